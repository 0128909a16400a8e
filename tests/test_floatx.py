"""Keras' global `floatx` may be float64 or float16."""

import keras
import mechanisms
import numpy as np
import pytest
from gradients import to_numpy
from keras import layers
from ready import EAGER
from tiers import some

import keras_attention as ka

IDS = np.array([[2, 4, 3, 0], [2, 5, 6, 3]], "int32")


@pytest.fixture(autouse=True, params=["float64", "float16"])
def floatx(request):
    before = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx(request.param)
    keras.config.set_dtype_policy(request.param)  # as in a new process
    yield request.param
    keras.config.set_floatx(before[0])
    keras.config.set_dtype_policy(before[1])


def draw(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def check(found, floatx):
    for x in keras.tree.flatten(found):
        assert keras.backend.standardize_dtype(x.dtype) == floatx
        assert np.isfinite(to_numpy(x).astype("float64")).all()


@pytest.mark.parametrize("alignment", mechanisms.ALIGNMENTS)
def test_every_alignment(alignment, floatx):
    config = keras.saving.serialize_keras_object
    aligner = mechanisms.ALIGNMENTS[alignment]
    if not isinstance(aligner, str):
        aligner = config(type(aligner).from_config(aligner.get_config()))
    layer = ka.DotAttention(alignment=aligner)
    mask = np.arange(5) < np.array([[5], [2]])
    found = layer(
        draw(2, 3, 6),
        draw(2, 5, 6),
        value_mask=mask,
        use_causal_mask=True,
        return_attention_scores=True,
    )
    check(found, floatx)


@pytest.mark.parametrize("mechanism", mechanisms.MECHANISMS)
def test_every_score(mechanism, floatx):
    layer = mechanisms.MECHANISMS[mechanism]("softmax")
    check(layer(draw(2, 3, 6), draw(2, 5, 6)), floatx)


def test_every_weighing_of_its_own(floatx):
    for make in mechanisms.ALONE.values():
        check(make()(draw(2, 3, 6), draw(2, 5, 6)), floatx)


def test_what_is_made_of_attention(floatx):
    x = draw(2, 5, 6)
    own = ka.SelfAttention(ka.GaussianMixtureAttention(2), width=3)
    check(own(x), floatx)
    check(ka.AttentionPooling(4)(x), floatx)
    ring = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    check(ka.GraphAttention(4, add_self_loops=True)(x, ring[None]), floatx)


@pytest.mark.slow
@pytest.mark.parametrize("copying", some([True, False], 1))
def test_a_whole_model(floatx, copying):
    # Not orthogonal: torch has no QR decomposition of float16.
    start = {"recurrent_initializer": "glorot_uniform"}
    inner = layers.LSTMCell(6, **start)
    states = {"return_sequences": True, "return_state": True}
    cell = ka.AttentionDecoderCell(inner, ka.CoverageAttention(4))
    model = ka.Seq2Seq(
        source_vocabulary_size=8,
        target_vocabulary_size=8,
        embedding_dim=4,
        encoder=layers.Bidirectional(layers.LSTM(3, **states, **start)),
        decoder=ka.AttentionDecoder(cell),
        bridge=ka.StateBridge(),
        copying=copying,
    )
    model.compile("sgd", loss=ka.SequenceCrossentropy(), **EAGER)
    history = model.fit((IDS, IDS[:, :-1]), IDS[:, 1:], verbose=0).history
    assert np.isfinite(history["loss"]).all()
    for search in (ka.BeamSearch(3, max_length=4), ka.Sampling(max_length=4)):
        found = model.generate(IDS, search)
        assert tuple(found.tokens.shape) == (2, 1, 4)
        assert np.isfinite(to_numpy(found.scores).astype("float64")).all()
