"""Trace a search from ids to ids in one TensorFlow graph."""

import contextlib
import re
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_attention.export.formats import OUTPUTS
from keras_attention.export.portable import check_exportable
from keras_attention.export.portable import portable
from keras_attention.export.recurrent import exportable_recurrence
from keras_attention.export.translation_graph import source_specs
from keras_attention.layers import sublayers
from keras_attention.layers import with_mask
from keras_attention.models import AbstractModel
from keras_attention.models import Seq2Seq
from keras_attention.ops import portable_program
from keras_attention.search import AbstractSearch

SIGNATURE = "translate_ids"
OTHER_FLOATS = ("float16", "bfloat16", "float64")


def input_specs(model: AbstractModel) -> tuple[tf.TensorSpec, ...]:
    """Describe the source of a model: ids, or features and their mask.

    Args:
        model: An `AbstractModel`.

    Returns:
        The spec of `source_ids`, `(B, T)` or `(B, T, M)`; or the result of
        `source_specs`.
    """
    if model.source_vocabulary_size is None:
        return source_specs(model)
    return (tf.TensorSpec(model.source_spec.shape, tf.int32, "source_ids"),)


def as_source(columns: Sequence) -> Any:
    """Return the source of a model: the first column, masked by the second."""
    return with_mask(*columns) if len(columns) == 2 else columns[0]


def check_ids_only(model: Seq2Seq, needed_by: str):
    """Raise a `ValueError` unless a model can be exported without text.

    Args:
        model: A `Seq2Seq`.
        needed_by: The function that exports, as the user typed it.
    """
    check_exportable(needed_by)
    check_float32(model, needed_by)
    if model.source_ids:
        raise ValueError(
            f"{needed_by} needs a model that generates only ids of its "
            "vocabulary. Received: copying=True, whose additional ids require "
            "text. Export it as a SavedModel, or with format='onnx_text'."
        )


def check_float32(
    model: keras.Model, needed_by: str, kind: type = AbstractModel
):
    """Raise a `ValueError` unless a model computes in float32.

    Args:
        model: A Keras model.
        needed_by: The function that exports, as the user typed it.
        kind: The class of layers to check. Defaults to `AbstractModel`.
    """
    for part in sublayers(model):
        if isinstance(part, kind) and part.compute_dtype in OTHER_FLOATS:
            raise ValueError(
                f"{needed_by} needs a model that computes in float32. "
                f"Received: dtype={part.dtype_policy.name!r}. Build it with "
                "dtype='float32', and "
                "new_model.set_weights(model.get_weights())."
            )


def as_numbers(outputs: Sequence[str]) -> tuple[str, ...]:
    """Return the names of outputs in a graph without text.

    Args:
        outputs: `"translations"`, which become `"tokens"`, and others, whose
            names are unchanged.
    """
    return tuple("tokens" if x == "translations" else x for x in outputs)


def chosen(found: dict, outputs: Collection[str] | None) -> dict:
    """Select outputs by name.

    Args:
        found: Tensors by name; `None` for outputs that the model lacks.
        outputs: The names to select; `None` for all that the model has.

    Raises:
        ValueError: If the model lacks one of them.
    """
    found = {name: x for name, x in found.items() if x is not None}
    for name in outputs or ():
        if name not in found:
            raise ValueError(
                f"`outputs` must be outputs of the model. Received: {name!r}, "
                "for a model whose decoder has no attention. Leave it out."
            )
    return found if outputs is None else {name: found[name] for name in outputs}


def trace_ids(
    model: Seq2Seq,
    search: AbstractSearch,
    outputs: Collection[str] | None = as_numbers(OUTPUTS),
    contexts: Sequence[Callable] = (exportable_recurrence,),
) -> tf.types.experimental.PolymorphicFunction:
    """Trace a search from the inputs of `input_specs` to hypotheses.

    Args:
        model: A `Seq2Seq`.
        search: A search strategy.
        outputs: Which of `tokens (B, N, T')`, `scores (B, N)`, `token_scores
            (B, N, T')` and `attention (B, N, T', T)` to return; `None` for all
            that the model has. Defaults to `("tokens", "scores")`.
        contexts: Functions from the model to the context managers that it is
            traced in, outermost first. Defaults to a context in which
            recurrent layers run in a loop that all formats support.

    Returns:
        A `tf.function` that is traced once, for all sizes.

    Raises:
        ValueError: If a recurrent layer cannot be exported, if the search
            draws random numbers, or if the model lacks one of the outputs.
    """
    inputs = input_specs(model)
    attends = outputs is None or "attention" in outputs

    def translate_ids(*columns):
        # A loop needs at least one row and one step.
        padded = []
        for x, spec in zip(columns, inputs, strict=True):
            rows, steps = tf.unstack(tf.maximum(0, 1 - tf.shape(x)[:2]))
            rest = [[0, 0]] * (len(spec.shape) - 2)
            x = tf.pad(x, [[0, rows], [0, steps], *rest])
            if None not in spec.shape[1:]:  # which LiteRT forgets
                x = tf.reshape(x, (-1, *spec.shape[1:]))
            x.set_shape(spec.shape)
            padded.append(x)
        ids = as_source(padded)
        found = model.generate(ids, search, None, attends)
        rows = tf.shape(columns[0])[0]
        given = {
            "tokens": found.tokens,
            "scores": _infinite(found.scores),
            "token_scores": _infinite(found.token_scores),
            "attention": found.weights,
        }
        given = chosen(given, outputs)
        return {name: x[:rows] for name, x in given.items()}

    function = tf.function(translate_ids, inputs, autograph=False)
    with contextlib.ExitStack() as stack:
        stack.enter_context(portable(model))
        for context in contexts:
            stack.enter_context(context(model))
        stack.enter_context(portable_program())
        function.get_concrete_function()
    check_deterministic(function, f"search={type(search).__name__}")
    return function


def _infinite(scores):
    """Return scores in float32 that are `-inf` in LiteRT, too.

    LiteRT stores the constant `-inf` as -3.4e38, which overflows to `-inf`
    here.
    """
    scores = tf.cast(scores, tf.float32)
    return scores - 10.0 * tf.nn.relu(-3e38 - scores)


def operations_of(function: tf.types.experimental.PolymorphicFunction) -> set:
    """List the operations of a traced function and its nested functions.

    Args:
        function: The `tf.function`.
    """
    graph = function.get_concrete_function().graph.as_graph_def()
    parts = [graph.node, *(part.node_def for part in graph.library.function)]
    return {node.op for part in parts for node in part}


def draws(function: tf.types.experimental.PolymorphicFunction) -> bool:
    """Return whether a traced function draws random numbers.

    Args:
        function: The `tf.function`.
    """
    names = operations_of(function)
    return any(re.search("Random|Multinomial", name) for name in names)


def check_deterministic(
    function: tf.types.experimental.PolymorphicFunction, received: str
):
    """Raise a `ValueError` if a traced function draws random numbers.

    Args:
        function: The `tf.function`.
        received: The object that draws them, for the error message.
    """
    if draws(function):
        raise ValueError(
            "LiteRT and ONNX files cannot draw random numbers. Received: "
            f"{received}. Use BeamSearch, and no layer that draws outside of "
            "training."
        )
