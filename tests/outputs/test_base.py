"""AbstractOutput: outputs of somebody else, with and without a state."""

import keras
import numpy as np
import pytest
from generations import assert_same
from keras import ops
from ready import EAGER
from samples import assert_close
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import small_model
from streams import make_model

from keras_attention import AbstractOutput
from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import Shortlist

pytestmark = pytest.mark.usefixtures("without_graphs")


@keras.saving.register_keras_serializable(package="tests")
class Bilinear(AbstractOutput):
    """Scores words by pairs of an output and an input, and by the memory."""

    attends = True

    def build(self, outputs_shape, words_shape, memory_shape):
        shape = outputs_shape[-1], words_shape[-1], WORDS
        self.kernel = self.add_weight(shape=shape, name="kernel")
        self.dense = keras.layers.Dense(WORDS, dtype=self.dtype_policy)
        self.dense.build(memory_shape)

    def prepare(self, source):
        return (self.dense(source.memory),)  # (B, Tv, V)

    def call(self, decoded, prepared, training=None):
        pair = decoded.outputs, decoded.words
        scores = ops.einsum("btd,bte,dev->btv", *pair, self.kernel)
        weights = decoded.mean_weights()
        return scores + ops.matmul(weights, prepared[0]), None


@keras.saving.register_keras_serializable(package="tests")
class Tiring(AbstractOutput):
    """Likes the end the better the more words it has counted.

    Its weights are all on the position of that number.
    """

    aligns = True
    state_count = 1

    def __init__(self, rate=0.5, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.dense = keras.layers.Dense(WORDS)

    def prepare(self, source):
        return (ops.cast(source.mask, "float32"),)

    def first_state(self, prepared, beams):
        zeros = ops.zeros_like(prepared[0][:, :1])
        return (ops.repeat(zeros, beams, axis=1),)

    def call(self, decoded, prepared, training=None):
        count = ops.cast(decoded.tokens != 0, "float32")
        return self._score(decoded, ops.cumsum(count, axis=1), prepared)

    def step(self, decoded, state, prepared):
        count = state[0] + 1.0
        return *self._score(decoded, count, prepared), (count,)

    def _score(self, decoded, count, prepared):
        end = ops.one_hot(3, WORDS, dtype="float32")
        scores = self.dense(decoded.outputs)
        scores = scores + self.rate * count[..., None] * end
        places = ops.arange(ops.shape(prepared[0])[1], dtype="float32")
        weights = ops.cast(places == count[..., None] - 1, "float32")
        return scores, weights * prepared[0][:, None]

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}


KINDS = {"stateless": Bilinear, "with a state": Tiring}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@every_kind
def test_one_beam_is_greedy(kind):
    model = small_model(output=kind())
    greedy = model.generate(SOURCE, GreedySearch(max_length=6))
    assert_same(model.generate(SOURCE, BeamSearch(1, max_length=6)), greedy)


@pytest.mark.slow
@every_kind
def test_a_search_scores_as_teacher_forcing_does(kind):
    model = small_model(output=kind())
    found = model.generate(SOURCE, BeamSearch(3, n_best=3, max_length=6))
    for n in range(3):
        tokens = to_numpy(found.tokens)[:, n]
        fed = np.pad(tokens[:, :-1], ((0, 0), (1, 0)), constant_values=2)
        log_probs = to_numpy(ops.log_softmax(model((SOURCE, fed))))
        taken = np.take_along_axis(log_probs, tokens[..., None], -1)[..., 0]
        want = (taken * (tokens != 0)).sum(axis=1)
        np.testing.assert_allclose(found.scores[:, n], want, atol=1e-4)
        real = (tokens != 0)[..., None]
        weights = to_numpy(model.attend(SOURCE, fed)[0])
        assert_close(found.weights[:, n], weights * real, 1e-5)


@pytest.mark.slow
@every_kind
def test_it_trains_and_comes_back(kind, tmp_path):
    model = small_model(output=kind(), dropout=0.1)
    model.compile("sgd", loss=SequenceCrossentropy(), **EAGER)
    before = to_numpy([x.value for x in model.readout.weights])
    model.fit((SOURCE, TARGET[:, :-1]), TARGET[:, 1:], verbose=0)
    for x, y in zip(before, model.readout.weights, strict=True):
        assert np.abs(x - to_numpy(y.value)).max() > 0
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(again.readout, kind)
    assert_close(again((SOURCE, TARGET)), model((SOURCE, TARGET)), 0)
    assert again.output_layer is None


@pytest.mark.graphs
@pytest.mark.slow
@pytest.mark.tensorflow
@every_kind
def test_it_is_exported(kind, tmp_path):
    import tensorflow as tf

    model, search = small_model(output=kind()), BeamSearch(2, max_length=4)
    ids = tf.TensorSpec((None, None), tf.int32)
    module = tf.Module()
    module.model = model
    module.generate = tf.function(
        lambda x: model.generate(x, search)._asdict(), [ids], autograph=False
    )
    tf.saved_model.save(module, tmp_path / "exported")
    exported = tf.saved_model.load(tmp_path / "exported")
    found = exported.generate(tf.constant(SOURCE, tf.int32))
    wanted = model.generate(SOURCE, search)
    np.testing.assert_array_equal(found["tokens"], wanted.tokens)
    np.testing.assert_allclose(found["weights"], wanted.weights, atol=1e-5)


@every_kind
def test_what_it_cannot_do_is_named(kind):
    model = small_model(output=kind())
    said = f"Received: output={kind.__name__}"
    with pytest.raises(ValueError, match=said):
        model.limited_to(Shortlist(np.ones((WORDS, 1), int), []))
    with pytest.raises(ValueError, match=f"{said}.*streams = True"):
        model.readout.check_stream()
    make_model().readout.check_stream()


def test_what_an_output_needs_is_there():
    if keras.backend.backend() == "tensorflow":
        with pytest.raises(ValueError, match="Received: output=Bilinear with"):
            small_model(None, output=Bilinear())
    with pytest.raises(ValueError, match="`output` must be an instance of"):
        small_model(output=keras.layers.Dense(WORDS))
    for flag in ("copying", "lexical", "tie_embeddings"):
        with pytest.raises(ValueError, match=f"{flag}=True.*Omit them"):
            small_model(output=Tiring(), **{flag: True})
    with pytest.raises(NotImplementedError, match=r"define `call\(decoded"):
        small_model(output=AbstractOutput())


def test_weights_of_its_own_need_no_attention_of_the_decoder():
    model = small_model(None, output=Tiring(), return_attention_scores=True)
    _, weights = model((SOURCE, TARGET))
    assert to_numpy(weights)[0].tolist() == np.eye(4, 5).tolist()
    assert isinstance(model, Seq2Seq)
