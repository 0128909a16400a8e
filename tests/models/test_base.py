"""AbstractModel: a model of somebody else does what a Seq2Seq does."""

import keras
import numpy as np
import pytest
from keras import ops
from samples import to_numpy
from seq2seqs import small_model

from keras_attention import AbstractModel
from keras_attention import BeamSearch
from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention import Shortlist
from keras_attention import Translator
from keras_attention import WordTokenizer
from keras_attention.models import Begun

SIDES = "source", "target"
WORDS = 8  # start, end, and four words behind padding and unknown ones
SOURCE = np.array([[2, 4, 5, 3], [2, 6, 3, 0]], "int32")


@keras.saving.register_keras_serializable(package="tests")
class WordByWord(AbstractModel):
    """Writes a word by a table of the word before and of the source's sum."""

    def __init__(self, size, **kwargs):
        super().__init__(**kwargs)
        self.source_vocabulary_size = self.target_vocabulary_size = size
        self.pads_freely = True

    def build(self, input_shape=None):
        shape = self.target_vocabulary_size, self.target_vocabulary_size
        self.table = self.add_weight(shape=shape, initializer="normal")
        self.of_source = self.add_weight(shape=shape, initializer="normal")

    def call(self, inputs):
        source, target = inputs
        after = ops.take(self.table, target, axis=0)
        return after + ops.expand_dims(self._read(source), 1)

    def _read(self, source):
        real = ops.cast(ops.not_equal(source, 0), "float32")
        real = ops.expand_dims(real, -1)
        words = ops.take(self.of_source, source, axis=0)
        return ops.sum(real * words, axis=1)

    def begin(self, source, beams=1, search=None, prefix=None):
        mask = ops.not_equal(source, 0)
        weights = ops.cast(mask, "float32")
        return Begun((self._read(source), weights), [], mask)

    def next_word(self, tokens, states, prepared):
        read, weights = prepared
        scores = ops.take(self.table, tokens, axis=0) + ops.expand_dims(read, 1)
        weights = ops.expand_dims(weights, 1) * ops.ones(
            (1, tokens.shape[1], 1)
        )
        return ops.log_softmax(scores), states, weights

    def get_config(self):
        return {**super().get_config(), "size": self.target_vocabulary_size}


def make_model():
    model = WordByWord(WORDS)
    model.build()
    drawn = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(2 * drawn.normal(size=weight.shape))
    return model


@pytest.mark.parametrize("prefix", [None, [[5], [6]]])
def test_it_generates_what_it_says_of_known_words(prefix):
    model = make_model()
    found = model.generate(SOURCE, GreedySearch(max_length=5), prefix)
    tokens = to_numpy(found.tokens)[:, 0]
    assert prefix is None or (tokens[:, :1] == prefix).all()
    before = np.pad(tokens[:, :-1], ((0, 0), (1, 0)), constant_values=2)
    log_probs = to_numpy(ops.log_softmax(model((SOURCE, before))))
    taken = np.take_along_axis(log_probs, tokens[..., None], -1)[..., 0]
    want = (taken * (tokens != 0)).sum(axis=1)
    np.testing.assert_allclose(found.scores[:, 0], want, atol=1e-5)
    assert found.weights.shape == (2, 1, 5, 4)
    again = model.generate(SOURCE, BeamSearch(1, max_length=5), prefix)
    np.testing.assert_array_equal(again.tokens, found.tokens)


def test_it_goes_on_by_what_has_changed():
    model, search = make_model(), GreedySearch(max_length=3)
    before = model.version
    assert model.version == before
    model.changes += 1
    assert model.version > before
    with pytest.raises(ValueError, match="`shortlist` needs a model whose"):
        model.generate(SOURCE, search, shortlist=Shortlist([[0]], [1]))


def test_what_is_missing_is_named():
    class Empty(AbstractModel):
        source_vocabulary_size = target_vocabulary_size = WORDS

    model = Empty()
    model.built = True
    with pytest.raises(NotImplementedError, match=r"define `begin\(source"):
        model.generate(SOURCE)
    with pytest.raises(NotImplementedError, match=r"define `next_word\(tok"):
        model.next_word(None, None, None)
    with pytest.raises(NotImplementedError, match=r"define `attend\(source"):
        model.attend(None, None)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "alone", [pytest.param(True, marks=pytest.mark.thorough), False]
)
def test_it_is_translated_with_saved_and_exported(tmp_path, alone):
    """By itself, and as a member of an ensemble."""
    import onnxruntime
    import tensorflow as tf

    from keras_attention.export.litert import run_litert

    texts = ["a b", "c", "d a c"]
    tokenizer = WordTokenizer.train(texts, WORDS)
    search, model = BeamSearch(2, max_length=4), make_model()
    if not alone:
        size = {f"{side}_vocabulary_size": WORDS for side in SIDES}
        model = Ensemble([model, small_model(**size)])
    translator = Translator(model, tokenizer, tokenizer, search)
    answer = translator(texts)
    translator.save(tmp_path / "saved")
    assert Translator.load(tmp_path / "saved")(texts) == answer
    translator.export(tmp_path / "exported", "tf_saved_model")
    exported = tf.saved_model.load(tmp_path / "exported")
    served = exported.signatures["serving_default"]
    found = served(tf.constant(texts))["translations"]
    assert [x.decode() for x in found.numpy()[:, 0]] == answer
    ids = {"source_ids": tokenizer.tokenize(texts).numpy()}
    wanted = model.generate(ids["source_ids"], search).tokens
    translator.export(tmp_path / "x.tflite")
    [answer] = run_litert(tmp_path / "x.tflite", "translate_ids", [ids])
    np.testing.assert_array_equal(answer["tokens"], wanted)
    translator.export(tmp_path / "x.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "x.onnx")
    np.testing.assert_array_equal(session.run(["tokens"], ids)[0], wanted)
