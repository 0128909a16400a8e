"""Export any Keras model to another runtime."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import NamedTuple

import keras
import tensorflow as tf

from keras_attention.checks import check_built
from keras_attention.checks import check_choice
from keras_attention.checks import check_object
from keras_attention.export.agreement import check_equal
from keras_attention.export.agreement import check_near
from keras_attention.export.formats import choose_format
from keras_attention.export.ids import check_deterministic
from keras_attention.export.ids import check_float32
from keras_attention.export.ids import draws
from keras_attention.export.ids import operations_of
from keras_attention.export.litert import FULL_INT8
from keras_attention.export.litert import QUANTIZATIONS
from keras_attention.export.litert import convert_to_litert
from keras_attention.export.litert import try_litert
from keras_attention.export.onnx import QUANTIZATIONS as ONNX_QUANTIZATIONS
from keras_attention.export.onnx import function_to_onnx
from keras_attention.export.onnx import run_onnx
from keras_attention.export.onnx import write_sealed
from keras_attention.export.onnx_recurrence import onnx_recurrence
from keras_attention.export.portable import blamed_layer
from keras_attention.export.portable import check_exportable
from keras_attention.export.portable import portable
from keras_attention.export.portable import quiet
from keras_attention.export.recurrent import check_stateless
from keras_attention.export.recurrent import exportable_recurrence
from keras_attention.export.recurrent import exportable_steps
from keras_attention.export.samples import Interface
from keras_attention.export.saved_model import MAIN_FILE
from keras_attention.export.saved_model import save_signatures
from keras_attention.extras import require
from keras_attention.files import replaced_file
from keras_attention.files import replaced_folder
from keras_attention.files import seal
from keras_attention.layers import sublayers
from keras_attention.ops import portable_program

ASKED = "export_model"
SIGNATURE = "serving_default"
LOOPS = {"While", "StatelessWhile"}
LOOKUPS = (
    keras.layers.Hashing,
    keras.layers.IntegerLookup,
    keras.layers.StringLookup,
    keras.layers.TextVectorization,
)


def export_model(
    model: keras.Model,
    path: str | Path,
    format: str | None = None,
    *,
    sample: Any,
    quantize: str | None = None,
) -> None:
    """Export a Keras model to another runtime, and verify the result.

    The file has one signature, `serving_default`, from the inputs of the model
    to its outputs, in inference mode. Positions are masked as in a call of the
    model. The batch size is variable. Other axes are variable if the model
    accepts several sizes: in a functional model, the axes that are `None` in
    its inputs; in other models, the axes for which the model runs with several
    sizes.

    Inputs and outputs keep their names: the names of `keras.Input` and of the
    output layers, or the keys of a dictionary. In a subclass of `keras.Model`,
    an input that is a single array is named after the argument of `call`, and
    outputs are called `output_0`, `output_1` and so on.

    To verify the export, the function writes a temporary file, and runs it in
    its runtime with `sample`, and with other batch sizes and lengths derived
    from `sample`, all in one session. The temporary file replaces the file at
    `path` only if its results differ from those of the model by at most 1e-4.
    For a quantized file, only the shapes and types of the results are compared,
    because the values can differ more. With `"full_int8"`, the results for
    `sample` must also be close to those of the model.

    Args:
        model: A built model that consists of layers of Keras and of this
            package: functional, `Sequential` or a subclass.
        path: The file to write, `*.tflite` or `*.onnx`, or the folder of a
            SavedModel. An earlier export at this path is replaced.
        format: `"tf_saved_model"`, `"litert"` or `"onnx"`. LiteRT files use
            built-in operations only. Defaults to `None`, which selects the
            format by the extension of `path`.
        sample: Example inputs with a batch axis: an array, or a list or
            dictionary of arrays.
        quantize: `"int8"` stores weights in a quarter of their size, and
            `"float16"`, for LiteRT only, in half of it. `"full_int8"`, for
            LiteRT and models without recurrent layers, also computes in 8 bits
            where LiteRT has kernels for this. In this case, `sample` calibrates
            the range of values, so pass a few hundred typical rows. Defaults to
            `None`, float32.

    Raises:
        ValueError: If an argument is invalid, if the model cannot be
            exported, or if the results of the file differ from the model.
        ImportError: If the extra `litert` or `onnx` is needed and not
            installed.

    Example:

    ```python
    model = keras.models.load_model("sentiment.keras")
    ids = tokenizer.tokenize(["What a film!", "Dull."])
    export_model(model, "sentiment.tflite", sample=ids, quantize="int8")
    ```
    """
    format = choose_format(path, format, SUFFIXES)
    runtime = RUNTIMES[format]
    check_object("model", model, keras.Model, "Put layers into a Sequential.")
    check_built(model, ASKED, "Train it, load it, or call it once.")
    check_exportable(ASKED)
    check_choice("quantize", quantize, runtime.quantizations)
    runtime.check_installed()
    if format != "tf_saved_model":
        check_float32(model, ASKED, keras.layers.Layer)
    check_stateless(model)
    with runtime.replaced(path) as draft, portable(model):
        with quiet():  # of the sizes that it tries
            interface = Interface(model, sample)
            batches, wanted = zip(*interface.trials(), strict=True)
        with contextlib.ExitStack() as stack:
            for context in runtime.contexts:
                stack.enter_context(context(model))
            function = interface.trace()
        axes = interface.axes(batches, wanted)
        runtime.write(draft, model, function, quantize, axes, batches[0])
        try:
            answers = runtime.run(draft, list(batches))
        except RuntimeError as error:
            raise ValueError(_with_layer(model, str(error))) from error
        wanted = wanted * (len(answers) // len(wanted))
        exact, random = quantize is None, draws(function)
        check_equal(runtime.made, wanted, answers, exact, draws=random)
        if quantize == FULL_INT8:
            check_near(runtime.made, wanted, answers)


def _with_layer(model, said):
    """Add the layer that an error of a runtime names, if any."""
    if layer := blamed_layer(model, said):
        said += f" The cause is {type(layer).__name__} `{layer.name}`: use "
        said += "another layer, or another format."
    return said


class Runtime(NamedTuple):
    """How to write and run a file for one runtime.

    Attributes:
        made: The kind of file, such as `"ONNX file"`.
        suffix: The file extension.
        check_installed: Function that raises an error unless the extra of the
            format is installed.
        quantizations: The values of `quantize`.
        contexts: Functions from a model to the context managers in which it
            is traced.
        replaced: Function from a path to a context manager with a temporary
            file.
        write: Function `write(draft, model, function, quantize, axes, sample)`,
            with the axes of `Interface.axes`.
        run: Function `run(draft, batches)`, which returns the outputs by name
            for each batch, once or several times.
    """

    made: str
    suffix: str
    check_installed: Callable
    quantizations: tuple[str | None, ...]
    contexts: tuple[Callable, ...]
    replaced: Callable
    write: Callable
    run: Callable


def _write_saved_model(folder, model, function, *_):
    save_signatures(folder, {SIGNATURE: function}, [model])


def _run_saved_model(folder, batches):
    serve = tf.saved_model.load(folder).signatures[SIGNATURE]
    _, inputs = serve.structured_input_signature
    keys = {spec.name: key for key, spec in inputs.items()}
    answers = []
    for batch in batches:
        given = {keys[k]: tf.convert_to_tensor(x) for k, x in batch.items()}
        answers.append({k: x.numpy() for k, x in serve(**given).items()})
    return answers


def _write_litert(draft, model, function, quantize, _, sample):
    _check_numbers(model, function)
    if quantize == FULL_INT8 and operations_of(function) & LOOPS:
        raise ValueError(
            "`quantize='full_int8'` needs a model without loops, in which "
            f"errors accumulate. Received: `{model.name}`, with a recurrent "
            "layer or another loop. Use quantize='int8', which rounds only "
            "weights."
        )
    given = model, {SIGNATURE: function}, quantize
    draft.write_bytes(convert_to_litert(*given, sample=sample))
    seal(draft)


def _run_litert(draft, batches):
    return try_litert(draft, SIGNATURE, batches)


def _write_onnx(draft, model, function, quantize, axes, _):
    _check_numbers(model, function)
    outputs = list(function.get_concrete_function().structured_outputs)
    content = function_to_onnx(
        function, SIGNATURE, outputs, axes, quantize, ASKED
    )
    write_sealed(draft, content, {})


def _check_numbers(model, function):
    """Raise a `ValueError` if a model uses lookup tables or random numbers."""
    for layer in sublayers(model):
        if isinstance(layer, LOOKUPS):
            raise ValueError(
                "LiteRT and ONNX files of models cannot contain lookup tables. "
                f"Received: {type(layer).__name__} `{layer.name}`. Look up ids "
                "outside of the file, or export a SavedModel."
            )
    check_deterministic(function, f"`{model.name}`, which draws them")


def _without_model(_):
    return portable_program()


RUNTIMES = {
    "tf_saved_model": Runtime(
        made="SavedModel",
        suffix="",
        check_installed=lambda: None,
        quantizations=(None,),
        contexts=(exportable_steps,),
        replaced=lambda path: replaced_folder(path, MAIN_FILE),
        write=_write_saved_model,
        run=_run_saved_model,
    ),
    "litert": Runtime(
        made="LiteRT file",
        suffix=".tflite",
        check_installed=lambda: require(
            "ai_edge_litert.interpreter", "litert", ASKED
        ),
        quantizations=(*QUANTIZATIONS, FULL_INT8),
        contexts=(exportable_steps, exportable_recurrence, _without_model),
        replaced=lambda path: replaced_file(path, ".tflite"),
        write=_write_litert,
        run=_run_litert,
    ),
    "onnx": Runtime(
        made="ONNX file",
        suffix=".onnx",
        check_installed=lambda: require("tf2onnx", "onnx", ASKED),
        quantizations=ONNX_QUANTIZATIONS,
        contexts=(exportable_steps, onnx_recurrence, _without_model),
        replaced=lambda path: replaced_file(path, ".onnx"),
        write=_write_onnx,
        run=run_onnx,
    ),
}
SUFFIXES = {name: runtime.suffix for name, runtime in RUNTIMES.items()}
