"""Every mechanism and every alignment, in LiteRT and ONNX.

A model has a layer of each mechanism, whose contexts are joined: what does
not survive an export changes what the model says.
"""

import keras
import numpy as np
import onnxruntime
import pytest
import samples
import tensorflow as tf
import tf2onnx
from ai_edge_litert.interpreter import Interpreter
from mechanisms import UNITS
from mechanisms import make_attentions
from mechanisms import make_model
from tiers import THOROUGH

from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Translator
from keras_attention.export.portable import quiet
from keras_attention.ops import portable_program

SPECS = [
    tf.TensorSpec((None, None, UNITS), "float32", "value"),
    tf.TensorSpec((None, 2, UNITS), "float32", "queries"),
    tf.TensorSpec((None,), "int32", "lengths"),
]

SEARCH = BeamSearch(3, n_best=2, max_length=5, forbidden_ids=[0])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "order", "part"),  # tf2onnx takes longer the more there are
    [("x.tflite", "bahdanau", slice(None)), ("x.onnx", "luong", slice(5, 9))],
)
def test_what_is_written_gives_what_the_model_gives(
    tmp_path, file, order, part
):
    """The export reads it back and compares, and raises if it differs."""
    tokenizer = CharacterTokenizer("0123456789", "identity")
    attentions = make_attentions(order)[part]
    model = make_model(attentions, order, tokenizer.vocabulary_size)
    translator = Translator(model, tokenizer, tokenizer, SEARCH)
    translator.export(tmp_path / file)
    assert (tmp_path / file).exists()


@pytest.fixture(scope="module")
def attentions():
    keras.utils.set_random_seed(0)
    layers = make_attentions("luong-unfed")
    return make_model(layers, "luong-unfed").decoder.cell.attentions


def two_steps(attentions):
    """Trace what layers give: from a memory to each context of step 2."""

    def contexts(value, queries, lengths):
        found = []
        padding = tf.shape(value)[1] - lengths  # in front
        mask = tf.range(tf.shape(value)[1]) >= padding[:, None]
        for layer in attentions:
            memory = layer.prepare(value, value_mask=mask)
            state = layer.initial_state(memory)
            _, _, state = layer.step(queries[:, :1], memory, state)
            found.append(layer.step(queries[:, 1:], memory, state)[0])
        return tf.concat(found, axis=-1)

    function = tf.function(contexts, SPECS, autograph=False)
    with portable_program():
        function.get_concrete_function()
    return function


def inputs():
    draw = np.random.default_rng(0).normal
    return {
        "value": draw(size=(3, 5, UNITS)).astype("float32"),
        "queries": draw(size=(3, 2, UNITS)).astype("float32"),
        "lengths": np.array([5, 1, 3], "int32"),
    }


def in_litert(function):
    with quiet():
        converter = tf.lite.TFLiteConverter.from_concrete_functions(
            [function.get_concrete_function()]
        )
        run = Interpreter(model_content=converter.convert())
    given = inputs()
    for place in run.get_input_details():
        name = place["name"].removesuffix(":0")
        run.resize_tensor_input(place["index"], given[name].shape)
    run.allocate_tensors()
    for place in run.get_input_details():
        name = place["name"].removesuffix(":0")
        run.set_tensor(place["index"], given[name])
    run.invoke()
    return run.get_tensor(run.get_output_details()[0]["index"])


def in_onnx(function):
    with quiet():
        content, _ = tf2onnx.convert.from_function(
            function, function.input_signature, opset=18
        )
        session = onnxruntime.InferenceSession(content.SerializeToString())
    return session.run(None, inputs())[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "part"),
    [
        (in_litert, slice(None)),
        (in_onnx, slice(2)),
        pytest.param(in_onnx, slice(2, 6), marks=THOROUGH),
        pytest.param(in_onnx, slice(6, 9), marks=THOROUGH),
        pytest.param(in_onnx, slice(9, None), marks=THOROUGH),
    ],
)
def test_each_step_is_made_of_what_runtimes_have(attentions, run, part):
    function = two_steps(attentions[part])
    wanted = function(**inputs()).numpy()
    assert wanted.shape == (3, 1, len(attentions[part]) * UNITS)
    samples.assert_close(run(function), wanted, 1e-4)
