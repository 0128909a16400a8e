"""A lexicon, a shortlist, models of models: files give what Python gives."""

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from seq2seqs import small_language_model
from seq2seqs import small_model

from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention import HardAttention
from keras_attention import LuongGeneral
from keras_attention import ShallowFusion
from keras_attention import Shortlist
from keras_attention import Translator
from keras_attention.export import agreement
from keras_attention.export.run_litert import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("without_graphs_of_its_own"),
]

TEXTS = ["01234", "42", "", "300"]
SEVERAL = [TEXTS, TEXTS[1:2]]  # each with words of its own
MEAN = "log_probabilities"  # by which 0 of one member is 0 of all


def hard_model():
    hard = HardAttention(LuongGeneral(), 4, order=1, monotonic=True)
    return small_model(None, seed=5, output=hard)


@pytest.fixture(scope="module")
def translator():
    """A translator all of whose parts change what it says."""
    tokenizer = CharacterTokenizer("01234", "identity")
    size = tokenizer.vocabulary_size
    sides = tokenizer, tokenizer
    search = GreedySearch(max_length=6)
    table = np.random.default_rng(0).integers(5, size - 1, (size, 1))
    shortlist = Shortlist(table, [1])
    lexical = small_model(lexical=True)
    luong = small_model(LuongGeneral(), seed=8, order="luong", layer_size=7)
    both = Ensemble([lexical, luong], [1, 2])
    fused = ShallowFusion(both, small_language_model(), 0.4)
    translator = Translator(fused, *sides, search, shortlist=shortlist)
    texts = translator(TEXTS)
    for other in (
        Translator(both, *sides, search, shortlist=shortlist),
        Translator(fused, *sides, search),
    ):
        assert other(TEXTS) != texts
    kernel = lexical.lexical_translation.output_kernel
    value = keras.ops.convert_to_numpy(kernel)
    kernel.assign(0 * value)
    assert translator(TEXTS) != texts
    kernel.assign(value)
    return translator


def ids_of(translator, texts):
    return translator.source_tokenizer.tokenize(texts)


def generate(translator, ids):
    return translator.model.generate(
        ids, translator.search, shortlist=translator.shortlist
    )


def served_by(translator, path, texts):
    """What a SavedModel of a translator answers: texts, and scores."""
    translator.export(path)
    served = tf.saved_model.load(path).signatures["serving_default"]
    found = served(text=tf.constant(texts))
    translations = found["translations"].numpy()[:, 0]
    return [x.decode() for x in translations], found["scores"][:, 0]


def test_saved_model(translator, tmp_path):
    texts, scores = served_by(translator, tmp_path / "x", TEXTS)
    wanted = translator(TEXTS, return_scores=True)
    assert texts == wanted.texts
    np.testing.assert_allclose(scores, wanted.scores, atol=1e-4)


def test_members_that_copy_are_in_a_file_of_text(translator, tmp_path):
    """Beside hard attention; a file of ids has no words to copy."""
    digits = translator.source_tokenizer
    copying, texts = small_model(seed=14, copying=True), ["0x1", *TEXTS]
    both = Ensemble([copying, hard_model()])
    translator = Translator(both, digits, digits, translator.search)
    found, _ = served_by(translator, tmp_path / "x", texts)
    assert found == translator(texts)
    assert "x" in found[0]


def in_litert(path, ids):
    (found,) = run(str(path), "translate_ids", [{"source_ids": ids}])
    return found["tokens"], found["scores"]


def in_onnx(path, ids):
    session = onnxruntime.InferenceSession(path)
    return session.run(["tokens", "scores"], {"source_ids": ids})


@pytest.mark.parametrize(
    ("format", "suffix", "run"),
    [("litert", ".tflite", in_litert), ("onnx", ".onnx", in_onnx)],
)
def test_files_from_ids_to_ids(translator, tmp_path, format, suffix, run):
    path = (tmp_path / "x").with_suffix(suffix)
    translator.export(path, format)
    for texts in SEVERAL:
        ids = ids_of(translator, texts)
        tokens, scores = run(path, ids)
        wanted = generate(translator, ids)
        np.testing.assert_array_equal(tokens, wanted.tokens)
        np.testing.assert_allclose(scores, wanted.scores, atol=1e-4)


def test_a_text_is_scored_among_the_listed_words(translator):
    """Where rounding decides for another text, its score is asked for."""
    model = small_model().limited_to(translator.shortlist)
    search = BeamSearch(2, n_best=2, max_length=4)
    ids = ids_of(translator, TEXTS)
    found = model.generate(ids, search)
    answer = {
        "tokens": found.tokens.numpy(),
        "scores": found.scores.numpy(),
    }
    first = np.isfinite(answer["scores"][:, 1]).nonzero()[0][0]
    for x in answer.values():
        x[first] = x[first, ::-1]
    given = [{"source_ids": ids}], [answer]
    agreement.check_answers("file", model, search, *given)


def test_sparse_probabilities_are_in_every_file(tmp_path):
    """Of a member by 1.5-entmax: where it is 0, scores are `-inf`."""
    digits = CharacterTokenizer("01234", "identity")
    search = BeamSearch(3, n_best=3, max_length=3)
    sparse, usual = (
        Translator(Ensemble(members, mean=MEAN), digits, digits, search)
        for members in (
            [small_model(None, output=output), hard_model()]
            for output in ("entmax15", None)
        )
    )
    ids = ids_of(sparse, TEXTS)
    wanted, usual = generate(sparse, ids), generate(usual, ids)
    assert np.abs(wanted.scores[:, 0] - usual.scores[:, 0]).min() > 0.01
    sparse.export(tmp_path / "x.tflite")
    sparse.export(tmp_path / "x.onnx")
    for runs, name in ((in_litert, "x.tflite"), (in_onnx, "x.onnx")):
        tokens, scores = runs(tmp_path / name, ids)
        found = np.isfinite(wanted.scores)
        assert not found.all()
        np.testing.assert_array_equal(tokens[found], wanted.tokens[found])
        np.testing.assert_allclose(scores, wanted.scores, atol=1e-4)
