"""ParallelTokenizer: each member of an ensemble reads its own pieces."""

import json

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from samples import to_numpy
from seq2seqs import WORDS
from seq2seqs import make_model
from seq2seqs import small_language_model
from seq2seqs import small_model
from word_by_word import table_model

import keras_attention as ka
from keras_attention.export.litert import run_litert
from keras_attention.text import ParallelTokenizer

pytestmark = pytest.mark.usefixtures("without_graphs")

TEXTS = ["0 1 2", "3", "", "2 2 4 1 0 0 9"]
LETTERS = ka.CharacterTokenizer("01234")
SYMBOLS = ka.SymbolTokenizer(["3", "4", "2", "1", "0"])


def members():
    return small_model(seed=3), small_model(ka.LuongGeneral(), seed=7)


def make(*models, search=None, **options):
    search = search or ka.BeamSearch(3, n_best=2, max_length=5)
    both = ka.Ensemble(models or members(), [2, 1])
    sides = [LETTERS, SYMBOLS], LETTERS
    return ka.Translator(both, *sides, search, **options)


def test_ids_stand_side_by_side():
    tokenizer = ParallelTokenizer([LETTERS, SYMBOLS])
    for most in (None, 4):
        ids = tokenizer.tokenize(TEXTS, most)
        for number, part in enumerate((LETTERS, SYMBOLS)):
            own = part.tokenize(TEXTS, most)
            rest = ids[:, own.shape[1] :, number]
            np.testing.assert_array_equal(ids[:, : own.shape[1], number], own)
            assert not rest.any()
    assert tokenizer.tokenize([]).shape == (0, 2, 2)
    again = ParallelTokenizer.from_json(tokenizer.to_json())
    assert json.loads(again.to_json()) == json.loads(tokenizer.to_json())
    np.testing.assert_array_equal(again.tokenize(TEXTS, 4), ids)
    first = LETTERS.tokenize(TEXTS)
    for given in ("detokenize", "tokens"):
        mine, its = (getattr(x, given)(first) for x in (tokenizer, LETTERS))
        np.testing.assert_array_equal(mine, its)
    np.testing.assert_array_equal(tokenizer.count(TEXTS), LETTERS.count(TEXTS))
    assert tokenizer.vocabulary == LETTERS.vocabulary


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, True])
def test_scores_are_the_mean_of_what_each_reads(fused):
    models = members()
    translator = make(*models)
    helper = small_language_model()
    if fused:
        parts = [LETTERS, SYMBOLS], LETTERS, translator.search
        both = ka.ShallowFusion(translator.model, helper, 0.3)
        translator = ka.Translator(both, *parts)
    found = translator(
        TEXTS, return_scores=True, return_attention_scores=True, batch_size=3
    )
    read = translator.source_tokenizer.tokenize(TEXTS)
    apart = translator.model.reading_apart()
    tokens = to_numpy(apart.generate(read, translator.search).tokens)
    for row, text in enumerate(TEXTS):
        target = np.pad(tokens[row], ((0, 0), (1, 0)), constant_values=2)
        sources = [
            np.repeat(x.tokenize([text]), 2, 0) for x in (LETTERS, SYMBOLS)
        ]
        each = [
            np.exp(to_numpy(model.score(x, target)[1]))
            for model, x in zip(models, sources, strict=True)
        ]
        said = np.log((2 * each[0] + each[1]) / 3)
        if fused:
            said = said + 0.3 * to_numpy(helper.score(target, target)[1])
        said = said * (tokens[row] != 0)
        np.testing.assert_allclose(found.scores[row], said.sum(1), atol=1e-4)
        [weights] = models[0].attend(sources[0], target[:, :-1])
        for n, given in enumerate(found.attention[row]):
            wanted = to_numpy(weights)[n, : len(given)]
            np.testing.assert_allclose(given, wanted, atol=1e-4)
        names = LETTERS.tokens(sources[0][0]).tolist()
        assert found.source_tokens[row] == names


@pytest.mark.slow
def test_the_first_model_may_copy_words():
    """And its words are those of the first tokenizer."""
    models = small_model(seed=3, copying=True), members()[1]
    tokenizer = ka.SymbolTokenizer(["0", "1", "2", "3", "4"])
    search = ka.BeamSearch(3, max_length=5)
    letters = ka.CharacterTokenizer("01234", lowercase=True)
    parts = [tokenizer, letters], tokenizer, search
    translator = ka.Translator(ka.Ensemble(models, [9, 1]), *parts)
    texts = ["0 xy 2 zz", "zz", "1 4"]
    found = translator(texts, prefixes=["zz", "", ""], return_token_scores=True)
    assert found.texts[0].startswith("zz")
    again = translator.score(texts, found.texts)
    for mine, given in zip(again.token_scores, found.token_scores, strict=True):
        size = min(len(mine), len(given))
        np.testing.assert_allclose(mine[:size], given[:size], atol=1e-4)
    with pytest.raises(ValueError, match="copies tokens, which only the first"):
        ka.Translator(ka.Ensemble(models[::-1]), *parts)


@pytest.mark.slow
def test_a_long_source_is_cut_for_each_tokenizer():
    translator = make(max_source_length=5)
    with pytest.warns(
        UserWarning, match=r"truncates 2 of 4 .*The first is senten"
    ):
        found = translator(TEXTS, return_scores=True)
    ids = translator.source_tokenizer.tokenize(TEXTS, 5)
    apart = translator.model.reading_apart()
    wanted = apart.generate(ids, translator.search).scores
    np.testing.assert_allclose(found.scores, wanted, atol=1e-4)


@pytest.mark.slow
def test_it_is_saved_and_exported(tmp_path):
    """With models of somebody else, which are small in a graph."""
    search = ka.GreedySearch(max_length=5)
    models = table_model(WORDS), table_model(WORDS, seed=1)
    translator = make(*models, search=search)
    found = translator(TEXTS, return_scores=True)
    translator.save(tmp_path / "saved")
    again = ka.Translator.load(tmp_path / "saved")
    assert again(TEXTS) == found.texts
    translator.export(tmp_path / "served")
    served = tf.saved_model.load(tmp_path / "served").signatures
    answer = served["serving_default"](text=tf.constant(TEXTS))
    texts = [x.decode() for x in answer["translations"].numpy()[:, 0]]
    assert texts == found.texts
    ids = translator.source_tokenizer.tokenize(TEXTS)
    apart = translator.model.reading_apart()
    wanted = to_numpy(apart.generate(ids, translator.search).tokens)
    translator.export(tmp_path / "x.tflite")
    batch = [{"source_ids": ids}]
    [answer] = run_litert(tmp_path / "x.tflite", "translate_ids", batch)
    np.testing.assert_array_equal(answer["tokens"], wanted)
    translator.export(tmp_path / "x.onnx", "onnx_text")
    session = onnxruntime.InferenceSession(tmp_path / "x.onnx")
    texts, scores = session.run(None, {"text": np.array(TEXTS, object)})
    assert texts[:, 0].tolist() == found.texts
    np.testing.assert_allclose(scores[:, 0], found.scores, atol=1e-4)


@pytest.mark.parametrize(
    ("tokenizers", "message"),
    [
        ([LETTERS], "Received: 1 tokenizers, and Ensemble with 2"),
        ([LETTERS] * 3, "Received: 3 tokenizers, and Ensemble with 2"),
        ([], "`source_tokenizer` must be a tokenizer, or a list"),
        ([LETTERS, None], r"`source_tokenizer\[1\]` must be an instance of"),
        (
            [LETTERS, ParallelTokenizer([SYMBOLS])],
            "contains no ParallelTokenizer",
        ),
        ([LETTERS, ka.CharacterTokenizer("56789a")], "size=9, of its model 1"),
    ],
)
def test_what_does_not_fit_is_refused(tokenizers, message):
    both = ka.Ensemble(members())
    with pytest.raises(ValueError, match=message):
        ka.Translator(both, tokenizers, LETTERS)


def test_what_cannot_read_apart_is_refused():
    one, other = members()
    sides = [LETTERS, SYMBOLS], LETTERS
    with pytest.raises(ValueError, match="need a combination of models"):
        ka.Translator(one, *sides)
    features = make_model(source_vocabulary_size=None)
    with pytest.raises(ValueError, match="which reads features"):
        ka.Translator(ka.Ensemble([features, features]), *sides)
    shortlist = ka.Shortlist(np.full((WORDS, 1), 5), [6])
    with pytest.raises(ValueError, match="needs one source tokenizer"):
        make(shortlist=shortlist)
    limited = ka.Ensemble([one.limited_to(shortlist), other])
    with pytest.raises(ValueError, match="which has a shortlist"):
        ka.Translator(limited, *sides)
    apart = ka.Ensemble([one, other]).reading_apart()
    for shape in ((2, 3), (2, 3, 3)):
        with pytest.raises(ValueError, match=r"built for: ids \(B, Tv, 2\)"):
            apart.generate(np.ones(shape, "int32"))
    ids = np.array([[[4, 4], [4, WORDS]]])
    with pytest.raises(ValueError, match=r"needs source\[..., 1\] ids from 0"):
        apart.generate(ids)


def test_its_members_are_extended_one_by_one():
    both = ka.text.ParallelTokenizer([LETTERS, SYMBOLS])
    with pytest.raises(ValueError, match="Extend each translator"):
        both.extended(["xyz"])
