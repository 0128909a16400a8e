"""LexicalTranslation: Nguyen & Chiang 2018, one word at a time."""

import numpy as np
import pytest
import samples
from gradients import check_gradients
from gradients import differentiate
from keras import ops
from samples import assert_close
from samples import draw
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import Halving
from seq2seqs import small_model

from keras_attention import BahdanauAttention
from keras_attention import LexicalTranslation
from keras_attention import LuongGeneral

V = 6


def make(dtype="float64", **options):
    layer = LexicalTranslation(V, dtype=dtype, **options)
    layer.build((None, None, None), (None, None, 4))
    samples.randomize(layer)
    return layer


def arrays(dtype="float64"):
    return draw(2, 3, 5, seed=1, dtype=dtype), draw(2, 5, 4, dtype=dtype)


def formula(layer, weights, words):
    """Logits of one row, step by step and position by position."""
    w, c, u, b = (to_numpy(x).astype("float64") for x in layer.weights)
    found = []
    for step in weights.astype("float64"):
        attended = sum(a * x for a, x in zip(step, words, strict=True))
        f = np.tanh(attended)
        h = np.tanh(f @ w + c) + f
        found.append(h @ u + b)
    return np.array(found)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_agrees_with_the_paper(dtype):
    layer, (weights, words) = make(dtype), arrays(dtype)
    found = layer(weights, words)
    want = [formula(layer, *row) for row in zip(weights, words, strict=True)]
    assert to_numpy(found).dtype == dtype
    assert_close(found, np.array(want), 2e-6 if dtype == "float32" else 1e-12)


def test_gradients_agree_with_differences():
    layer, given = make(), list(arrays())
    cotangent = ops.convert_to_tensor(draw(2, 3, V, seed=4))

    def run(*tensors):
        return ops.sum(layer(*tensors) * cotangent)

    check_gradients(run, given)
    _, found = differentiate(run, given, layer.trainable_variables)
    assert all(np.abs(g).sum() > 0 for g in found)


def test_dropout_is_of_training_alone():
    layer, given = make(dropout=0.5), arrays()
    plain = to_numpy(layer(*given))
    assert_close(layer(*given, training=False), plain, 0)
    dropped = to_numpy(layer(*given, training=True))
    assert np.abs(dropped - plain).max() > 0.01


def test_config_brings_it_back():
    layer = LexicalTranslation(V, dropout=0.2, kernel_initializer="ones")
    again = LexicalTranslation.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    assert (again.vocabulary_size, again.drop.rate) == (V, 0.2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"vocabulary_size": 0}, "vocabulary_size"), ({"dropout": 1}, "dropout")],
)
def test_what_cannot_be_says_so(arguments, said):
    with pytest.raises(ValueError, match=said):
        LexicalTranslation(**{"vocabulary_size": V, **arguments})


def test_shapes_are_told():
    layer = make("float32")
    assert layer.compute_output_shape((None, 3, 5), (None, 5, 4)) == (
        None,
        3,
        V,
    )


# In a model.


def test_a_model_adds_it_to_its_logits():
    """Whatever the decoder says, by the formula and the model's weights."""
    attentions = [BahdanauAttention(5), LuongGeneral()]
    model = small_model(
        attentions, lexical=True, return_attention_scores=True, dtype="float64"
    )
    logits, weights = model((SOURCE, TARGET))
    weights = (to_numpy(weights[0]) + to_numpy(weights[1])) / 2
    layer = model.lexical_translation
    embedded = np.sqrt(5) * to_numpy(model.source_embedding.embeddings)[SOURCE]
    want = [formula(layer, *row) for row in zip(weights, embedded, strict=True)]
    for name in ("output_kernel", "output_bias"):
        weight = getattr(layer, name)
        weight.assign(0 * weight)
    plain, _ = model((SOURCE, TARGET))
    assert_close(to_numpy(logits) - to_numpy(plain), np.array(want), 1e-6)


def test_features_have_no_words():
    with pytest.raises(ValueError, match="lexical=True needs a source of ids"):
        small_model(lexical=True, source_vocabulary_size=None)


def test_an_encoder_keeps_the_length():
    small_model(encoder=Halving(8), bridge=None)
    with pytest.raises(ValueError, match="Use an encoder that keeps"):
        small_model(encoder=Halving(8), bridge=None, lexical=True)
