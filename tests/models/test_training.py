"""Training: `model.fit` on every form of model, compiled and not."""

import keras
import numpy as np
import pytest
import samples
from keras import layers
from keras import ops
from ready import dtype_policy
from ready import make_ready
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import functional_model
from seq2seqs import make_model
from seq2seqs import small_model
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import LuongGeneral
from keras_attention import RecurrentEncoder
from keras_attention import SequenceCrossentropy
from keras_attention import TokenAccuracy

BACKEND = keras.backend.backend()
VOCABULARY = 8


def make_batch(batch=32, longest=4, seed=0):
    """Texts to copy: source, target that goes in, target to be told."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, batch)
    lengths[0] = longest
    words = rng.integers(4, VOCABULARY, (batch, longest))
    words *= samples.mask(lengths, longest)
    target = np.pad(words, ((0, 0), (1, 1)))
    target[:, 0] = 2
    target[np.arange(batch), lengths + 1] = 3
    return words, target[:, :-1], target[:, 1:]


def make_decoder(attention=None, cell=None, **kwargs):
    attention = LuongGeneral() if attention is None else attention
    cell = layers.LSTMCell(16) if cell is None else cell
    return AttentionDecoder(AttentionDecoderCell(cell, attention, **kwargs))


def functional():
    return functional_model(BahdanauAttention(8), VOCABULARY, units=8)


def seq2seq(cell=None, attention=None, **changes):
    cell, attention = cell or layers.LSTMCell(16), attention or LuongGeneral()
    options = {"words": VOCABULARY, "embedding_dim": 8}
    options = {**options, "encoder": RecurrentEncoder(8), **changes}
    return make_model(cell, attention, **options)


def compiled(model, rate=0.02, **kwargs):
    model.compile(
        keras.optimizers.Adam(rate),
        loss=SequenceCrossentropy(),
        metrics=[TokenAccuracy()],
        **kwargs,
    )
    return model


# Fit.


# Compiled and not.


def losses(model, batches, **kwargs):
    compiled(model, **kwargs)
    make_ready(model, batches[0][:2])
    found = []
    for source, target, labels in batches:
        result = model.train_on_batch((source, target), labels)
        found.append(float(result[0]))
    return found


@pytest.mark.slow
@pytest.mark.skipif(BACKEND == "torch", reason="torch runs eagerly")
def test_compiled_losses_are_those_of_eager():
    batches = [make_batch(4, seed=seed) for seed in range(3)]
    found = []
    for way in ({"run_eagerly": True}, {"jit_compile": True}):
        keras.utils.set_random_seed(0)
        found.append(losses(functional(), batches, **way))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-3)
    assert len(set(found[0])) == 3


# Dropout.


def test_a_sequence_has_one_mask():
    """A cell without a memory of its own gives the same at all steps."""
    cell = layers.SimpleRNNCell(
        16, dropout=0.5, seed=1, recurrent_initializer="zeros"
    )
    decoder = make_decoder(BahdanauAttention(4), cell, output="cell")
    inputs = np.ones((2, 5, 16), "float32"), np.zeros((2, 3, 4), "float32")

    def run(**kwargs):
        return to_numpy(decoder(*inputs, **kwargs))

    plain = run()
    np.testing.assert_array_equal(run(training=False), plain)
    first, second = run(training=True), run(training=True)
    for found in (first, second):
        for step in range(1, 5):
            np.testing.assert_allclose(found[:, step], found[:, 0], atol=1e-6)
        assert not np.allclose(found, plain)
    assert not np.allclose(first, second)
    assert not np.allclose(first[0], first[1])


def test_dropout_of_weights_is_anew_at_every_step():
    attention = BahdanauAttention(4, dropout=0.5, seed=5)
    decoder = make_decoder(
        attention, layers.SimpleRNNCell(4), order="luong", output="attention"
    )
    decoder.return_attention_scores = True
    x = np.zeros((2, 5, 4), "float32")
    memory = samples.draw(2, 6, 3, dtype="float32")
    plain, weights = to_numpy(decoder(x, memory))
    samples.assert_close(decoder(x, memory, training=False)[0], plain, 1e-6)
    dropped, before = to_numpy(decoder(x, memory, training=True))
    np.testing.assert_allclose(before.sum(axis=-1), 1, atol=1e-5)
    assert not np.allclose(dropped, plain)
    assert not np.allclose(dropped[:, 0], dropped[:, 1])
    again, _ = to_numpy(decoder(x, memory, training=True))
    assert not np.allclose(again, dropped)
    assert before.shape == weights.shape


# Policies, regularizers.


def test_mixed_precision_has_gradients_of_a_gru():
    """Autocasting ends with the call, before its gradient is computed."""
    with dtype_policy("mixed_bfloat16"):
        model = small_model()
    model.compile("sgd", loss=SequenceCrossentropy(), run_eagerly=True)
    kernel = model.decoder.cell.cells[0].recurrent_kernel
    before = ops.convert_to_numpy(kernel)
    model.train_on_batch((SOURCE, TARGET), TARGET)
    assert np.abs(ops.convert_to_numpy(kernel) - before).max() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("policy", some(["mixed_float16", "mixed_bfloat16"], 1))
def test_mixed_precision_trains(policy):
    keras.utils.set_random_seed(0)
    with dtype_policy(policy):
        model = compiled(seq2seq())
        source, target, labels = make_batch(batch=32)
        make_ready(model, (source, target))
        history = model.fit(
            (source, target), labels, batch_size=16, epochs=4, verbose=0
        ).history
    assert history["loss"][-1] < history["loss"][0]
    assert all(w.dtype == "float32" for w in model.trainable_variables)
    assert model.compute_dtype == policy.removeprefix("mixed_")
