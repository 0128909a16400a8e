"""Seq2Seq: its parts put together by hand, and what it generates."""

import inspect
import json

import keras
import numpy as np
import pytest
import samples
from keras import layers
from keras import ops
from ready import EAGER
from ready import dtype_policy
from ready import make_ready
from samples import assert_close
from samples import draw
from samples import to_numpy
from seq2seqs import Halving
from seq2seqs import built_model
from seq2seqs import make_model
from tiers import SLOW
from tiers import some

from keras_attention import BahdanauAttention
from keras_attention import GreedySearch
from keras_attention import LuongGeneral
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import StateBridge
from keras_attention.outputs import Decoded

SOURCE = np.array([[5, 6, 7, 8, 3], [4, 9, 3, 0, 0], [8, 3, 0, 0, 0]])
PADDING = [[(0, 0), (0, 1)], [(0, 0), (0, 0), (0, 0)]]  # an even length
TARGET = np.array([[2, 5, 6, 7], [2, 4, 0, 0], [2, 9, 4, 0]])
OPTIONS = {"return_sequences": True, "return_state": True}


class BareLSTM(layers.Layer):
    """An encoder whose `call` takes neither mask nor training."""

    def __init__(self, units):
        super().__init__()
        self.lstm = layers.LSTM(units, **OPTIONS)

    def build(self, shape):
        self.lstm.build(shape)

    def call(self, sequence):
        return self.lstm(sequence)


def make(seed=5, **changes):
    """A model with random weights, as large as after some training."""
    options = {
        "source_vocabulary_size": 10,
        "target_vocabulary_size": 12,
        "encoder": RecurrentEncoder(4),
        "cell": layers.LSTMCell(8),
        "attention": LuongGeneral(use_scale=True),
    }
    model = make_model(**{**options, **changes})
    speech = model.source_vocabulary_size is None
    read = np.pad(source(speech), PADDING[speech])
    model.build((read.shape, TARGET.shape))
    samples.randomize(model, seed, scale=1.0)
    if model.output_layer is not None:
        bias = np.zeros(12)
        bias[0] = -1e9  # padding is no word: training sees to that
        model.output_layer.bias.assign(bias)
    return model


def source(speech=False):
    return draw(3, 6, 5, dtype="float32") if speech else SOURCE


VARIANTS = {
    "halving": lambda: {"encoder": Halving(6), "bridge": None},
    "bare": lambda: {"encoder": BareLSTM(8), "bridge": None},
    "tied": lambda: {"tie_embeddings": True, "attention_layer_size": 5},
    "stacked": lambda: {
        "encoder": RecurrentEncoder(4, depth=2, cell="gru"),
        "cell": [layers.GRUCell(8), layers.GRUCell(8)],
        "order": "luong",
        "attention_layer_size": 6,
    },
    "lexical": lambda: {"lexical": True},
    "no_bridge": lambda: {
        "encoder": layers.GRU(8, **OPTIONS),
        "bridge": None,
        "cell": layers.GRUCell(8),
    },
    "keras": lambda: {
        "encoder": layers.Bidirectional(layers.LSTM(4, **OPTIONS))
    },
    "one_way": lambda: {
        "encoder": layers.LSTM(4, **OPTIONS),
        "bridge": StateBridge(bidirectional=False, units=8),
    },
    "two_attentions": lambda: {
        "attention": [BahdanauAttention(5), LuongGeneral()]
    },
    "no_attention": lambda: {"attention": None},
    "speech": lambda: {"source_vocabulary_size": None},
    "plain": lambda: {},
}


def variant(name):
    model = make(**VARIANTS[name]())
    return model, source(model.source_vocabulary_size is None)


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("name", some(VARIANTS, 6))
def test_trains_generates_and_comes_back_from_its_config(name):
    model, words = variant(name)
    if name == "halving":
        words = np.pad(words, PADDING[0])
    assert tuple(model((words, TARGET)).shape) == (3, 4, 12)
    model.compile("adam", lambda x, y: ops.square(x - y), **EAGER)
    make_ready(model, (words, TARGET))
    before = to_numpy([w.value for w in model.trainable_variables])
    model.train_on_batch((words, TARGET), draw(3, 4, 12, dtype="float32"))
    for w, x in zip(model.trainable_variables, before, strict=True):
        assert not np.array_equal(to_numpy(w.value), x), w.path
    found = model.generate(words, GreedySearch(max_length=3))
    assert tuple(found.tokens.shape) == (3, 1, 3)
    if name == "no_attention":
        assert found.weights is None
    else:
        length = {"halving": 3}.get(name, words.shape[1])
        assert tuple(found.weights.shape) == (3, 1, 3, length)
    config = json.loads(json.dumps(model.get_config()))
    parameters = inspect.signature(Seq2Seq).parameters
    assert set(parameters) - {"kwargs"} <= set(config)
    if name == "bare":
        return  # it is not registered
    again = Seq2Seq.from_config(config)
    assert json.loads(json.dumps(again.get_config())) == config
    again((words, TARGET))
    again.set_weights(model.get_weights())
    assert_close(again((words, TARGET)), model((words, TARGET)), 0)


def test_is_its_parts_put_together():
    model = make()
    words = np.sqrt(5) * model.source_embedding(SOURCE)
    memory, *states = model.encoder(words, mask=SOURCE != 0)
    outputs = model.decoder(
        np.sqrt(5) * model.target_embedding(TARGET),
        memory,
        initial_state=model.bridge(states),
        sequence_mask=TARGET != 0,
        memory_mask=SOURCE != 0,
    )
    want = model.output_layer(outputs)
    assert_close(model((SOURCE, TARGET)), want, 1e-4)
    assert_close(model([SOURCE, TARGET]), want, 1e-4)


def test_tied_embeddings_score_by_the_target_embedding():
    model, _ = variant("tied")
    assert model.output_layer is None
    kernel = to_numpy(model.target_embedding.embeddings.value)
    outputs = draw(3, 4, 5, dtype="float32")
    scores, _ = model.readout.call(Decoded(outputs, None, None, []), ())
    assert_close(scores, outputs @ kernel.T, 1e-4)


def test_words_go_in_with_variance_one():
    model = built_model(words=500, embedding_dim=64)
    for layer in (model.source_embedding, model.target_embedding):
        std = np.std(to_numpy(layer.embeddings.value))
        assert std == pytest.approx(1 / 8, rel=0.05)


def test_dropout_is_of_training_alone():
    model = make(dropout=0.5)
    plain = to_numpy(model((SOURCE, TARGET)))
    assert_close(model((SOURCE, TARGET), training=False), plain, 1e-6)
    assert_close(make()((SOURCE, TARGET)), plain, 1e-6)
    assert not np.allclose(
        to_numpy(model((SOURCE, TARGET), training=True)), plain
    )


@pytest.mark.filterwarnings("error:.*destroy the mask information")
@pytest.mark.parametrize("compiled", some([False, True], 1, SLOW))
def test_a_mask_carried_by_features_is_used(compiled):
    """Of speech, from a Masking layer: its own zeros, and none of ours."""
    model, frames = variant("speech")
    frames[1, 4:] = frames[2, 2:] = 0
    features, ids = keras.Input((None, 5)), keras.Input((None,), dtype="int32")
    masked = layers.Masking()(features)
    whole = keras.Model([features, ids], model((masked, ids)))
    run = whole.predict if compiled else whole
    got = to_numpy(run([frames, TARGET]))
    for row, length in enumerate([6, 4, 2]):
        one = slice(row, row + 1)
        want = model((frames[one, :length], TARGET[one]))
        real = TARGET[row] != 0
        assert_close(got[row][real], to_numpy(want)[0][real], 1e-4)


@pytest.mark.parametrize("compiled", some([True, False], 1))
def test_a_mask_of_the_encoder_s_own_is_used(compiled):
    model, _ = variant("halving")
    words = np.array([[5, 6, 7, 3, 0, 0], [4, 3, 0, 0, 0, 0]])
    run = model.predict if compiled else model
    got = to_numpy(run((words, TARGET[:2])))
    for row, length in enumerate([4, 2]):
        one = slice(row, row + 1)
        want = to_numpy(model((words[one, :length], TARGET[one])))
        real = TARGET[row] != 0
        assert_close(got[row][real], want[0][real], 1e-4)


# Generation.


@pytest.mark.usefixtures("without_graphs")
def test_an_empty_source_is_finite():
    model = make()
    search = GreedySearch(max_length=3)
    found = to_numpy(model.generate(np.zeros((2, 3), "int32"), search))
    assert np.isfinite(found.scores).all()
    assert (found.weights == 0).all()


def test_generates_greedily_unless_told_otherwise():
    model = make()
    bias = np.zeros(12)
    bias[3] = 1e9
    model.output_layer.bias.assign(bias)
    tokens = to_numpy(model.generate(SOURCE).tokens)
    assert tokens.shape == (3, 1, 100)
    assert (tokens[:, 0] == [3] + 99 * [0]).all()


@pytest.mark.slow
def test_scores_of_a_float16_model_are_float32():
    """Scores are taken in float32, whatever the model computes in."""
    with dtype_policy("mixed_float16"):
        model = make()
    assert model.compute_dtype == "float16"
    found = model.generate(SOURCE, GreedySearch(max_length=4))
    assert keras.backend.standardize_dtype(found.scores.dtype) == "float32"
    assert np.isfinite(to_numpy(found.scores)).all()


# Errors.


def test_the_decoder_must_return_sequences():
    decoder = make_model().decoder
    decoder.return_sequences = False
    with pytest.raises(ValueError, match="return_sequences=True"):
        make_model(decoder=decoder)


def test_tied_sizes_must_be_equal():
    with pytest.raises(ValueError, match="attention_layer_size"):
        make(tie_embeddings=True)


@pytest.mark.slow
def test_all_embeddings_may_be_one(tmp_path):
    options = {
        "source_vocabulary_size": 12,
        "tie_embeddings": "all",
        "attention_layer_size": 5,
    }
    model = make(**options)
    assert model.source_embedding is model.target_embedding
    sizes = [w.shape for w in model.weights if "embedding" in w.path]
    assert sizes == [(12, 5)]
    samples.randomize(model)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert again.source_embedding is again.target_embedding
    assert_close(again((SOURCE, TARGET)), model((SOURCE, TARGET)), 1e-6)
    for size in (11, None):
        with pytest.raises(ValueError, match="'all' needs one vocabulary"):
            make(**{**options, "source_vocabulary_size": size})
    with pytest.raises(ValueError, match="`tie_embeddings` must be one of"):
        make(tie_embeddings="both")


def test_states_that_do_not_fit_name_the_bridge():
    with pytest.raises(ValueError, match="StateBridge"):
        make(bridge=None)
