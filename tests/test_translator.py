"""Translator: text in, text out, and errors for what cannot be."""

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
import tensorflow as tf
from tiny import tiny_translator
from tiny import write
from word_by_word import table_model

import keras_attention as ka

NUMBERS = ["7", "1234", "905", "42", "6006"]
SEARCH = ka.BeamSearch(3, n_best=2, max_length=8)


def make(**changed):
    """Make a translator of the tiny parts, some of them exchanged."""
    tiny = tiny_translator()
    names = ("model", "source_tokenizer", "target_tokenizer", "search")
    return ka.Translator(
        **{name: getattr(tiny, name) for name in names} | changed
    )


def test_sentences_come_as_a_dataset_too():
    dataset = tf.data.Dataset.from_tensor_slices(NUMBERS).batch(2)
    assert tiny_translator()(dataset) == [write(n) for n in NUMBERS]


def test_a_long_list_keeps_its_order_and_has_a_bar(capsys):
    draw = np.random.default_rng(1).integers
    numbers = [str(draw(0, 10 ** draw(1, 5))) for _ in range(70)]
    translator = tiny_translator()
    translated = translator(numbers, batch_size=16, verbose=1)
    assert "70/70" in capsys.readouterr().out
    assert translator(numbers, batch_size=70) == translated
    assert translator(numbers, batch_size=16) == translated
    assert capsys.readouterr().out == ""  # which is no terminal
    right = sum(t == write(n) for t, n in zip(translated, numbers, strict=True))
    assert right >= 65


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.slow
@pytest.mark.parametrize("listed", [False, True])
def test_a_model_may_be_built_later(tmp_path, listed):
    trained = tiny_translator().model
    model = type(trained).from_config(trained.get_config())
    size = model.source_vocabulary_size
    shortlist = ka.Shortlist(np.full((size, 2), 5), always=[6])
    options = {"shortlist": shortlist} if listed else {}
    translator = make(model=model, **options)
    for use in (
        lambda: translator(["1"]),
        lambda: translator.save(tmp_path / "saved"),
        lambda: translator.export(tmp_path / "exported"),
        lambda: model.limited_to(shortlist).generate(np.ones((1, 2), int)),
    ):
        with pytest.raises(ValueError, match="is built"):
            use()
    assert list(tmp_path.iterdir()) == []
    model.build(((None, None), (None, None)))
    model.set_weights(trained.get_weights())
    assert translator(NUMBERS) == make(**options)(NUMBERS)


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_another_search_keeps_all_else():
    size = tiny_translator().model.source_vocabulary_size
    shortlist = ka.Shortlist(np.full((size, 2), 5), always=[6])
    given = {
        "max_source_length": 9,
        "replace_unknown": True,
        "shortlist": shortlist,
    }
    one = make(**given)
    other = one.with_search(ka.BeamSearch(2, max_length=4))
    assert other.search.beam_size == 2
    assert one.search is tiny_translator().search
    for name in inspect.signature(ka.Translator).parameters:
        assert (getattr(other, name) is getattr(one, name)) == (
            name != "search"
        )
    again = make(**given, search=ka.BeamSearch(2, max_length=4))
    assert other(NUMBERS) == again(NUMBERS)
    with pytest.raises(ValueError, match="search"):
        one.with_search("beam")


@pytest.mark.slow
def test_many_translators_are_not_taken_for_one_traced_anew(monkeypatch):
    from tensorflow.python.eager.polymorphic_function import (
        polymorphic_function as counted,
    )

    fresh, said = counted._FrequentTracingDetectorManager(), []
    monkeypatch.setattr(counted, "_frequent_tracing_detector_manager", fresh)
    monkeypatch.setattr(counted.logging, "warning", said.append)
    ids = tiny_translator().source_tokenizer.tokenize(["7"])
    tiny = make(model=table_model(14))
    for length in range(2, 9):
        tiny.with_search(ka.GreedySearch(max_length=length))(["7"])
    for penalty in range(2, 9):
        search = ka.BeamSearch(2, max_length=4, length_penalty=penalty / 10)
        tiny.model.generate(ids, search)
    assert said == []


def test_a_book_is_cut_and_changes_no_other_row():
    with pytest.warns(UserWarning, match="max_source_length=1024"):
        texts = tiny_translator()(["42", "1 2 3 " * 20_000, "7"])
    assert texts[::2] == ["vx", "s"]


@pytest.mark.slow
def test_threads_share_a_translator_from_the_first_call_on():
    translator, start = make(), threading.Barrier(8)

    def work(n):
        start.wait()
        return translator(NUMBERS[n % 5 :], batch_size=n + 1)

    with ThreadPoolExecutor(8) as threads:
        found = [*threads.map(work, range(8))]
    wanted = [write(n) for n in NUMBERS]
    assert found == [wanted[n % 5 :] for n in range(8)]


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("search", keras.layers.Dense(3), "`search` must be an instance"),
        ("max_source_length", 1, "max_source_length=1"),
    ],
)
def test_what_does_not_fit_is_told_again_and_again(name, wrong, message):
    translator = make()
    right, wanted = getattr(translator, name), translator(["1"])
    setattr(translator, name, wrong)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            translator(["1"])
    setattr(translator, name, right)
    assert translator(["1"]) == wanted


def test_a_limit_of_numpy_is_a_number_that_files_have():
    translator = make()
    translator.max_source_length = np.int64(9)
    translator._checked_program()
    assert type(translator.max_source_length) is int


@pytest.mark.slow
def test_unknown_words_are_those_of_the_source():
    class Lost(ka.AbstractSearch):
        """Knows the first letter, and attends to columns 2, 1 and 0."""

        def __call__(self, step, state, batch_size, memory_mask, **_):
            tokens = tf.tile([[[4, 1, 1, 3]]], [batch_size, 1, 1])
            columns = tf.one_hot([[[3, 2, 1, 0]]], tf.shape(memory_mask)[1])
            ends = tf.constant([9.0, 1.0, 1.0, 1.0, 9.0])  # are no words
            weights = columns + ends[: tf.shape(memory_mask)[1]]
            weights = tf.tile(weights, [batch_size, 1, 1, 1])
            zeros = tf.zeros((batch_size, 1))
            return ka.Generation(tokens, zeros, zeros, weights)

    first = tiny_translator().target_tokenizer.get_config()["vocabulary"][0]
    found = make(search=Lost(), replace_unknown=True)(["123", "9x8"])
    assert found == [f"{first}21", f"{first}x9"]
    plain = make(search=Lost())(["123"])
    assert plain == [f"{first}\ufffd\ufffd"]


@pytest.mark.slow
def test_unknown_words_need_attention():
    tiny = tiny_translator(attention=False)
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    with pytest.raises(ValueError, match="`replace_unknown` needs a model"):
        ka.Translator(*parts, replace_unknown=True)(["1"])


@pytest.mark.slow
def test_other_backends_and_xla_go_through_the_same_text():
    tiny = tiny_translator()
    asked = {"return_scores": True, "return_attention_scores": True}
    asked["return_token_scores"] = True
    wanted = tiny(NUMBERS, **asked)
    tiny.model.compile("sgd", jit_compile=True)
    again = make()
    found = again(NUMBERS, **asked)
    tiny.model.compile("sgd", jit_compile=False)
    for x, y in zip(found, wanted, strict=True):
        if isinstance(x[0], float):
            np.testing.assert_allclose(x, y, atol=1e-4)
        elif isinstance(x[0], np.ndarray):
            for a, b in zip(x, y, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-4)
        else:
            assert x == y


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("beams", [1, 2])
def test_tokens_have_scores_by_which_others_are_scored(beams):
    translator = make(search=ka.BeamSearch(beams, n_best=beams, max_length=8))
    asked = {"return_scores": True, "return_token_scores": True}
    found = translator(NUMBERS, **asked)
    assert found.texts == translator(NUMBERS)
    assert found.attention is None
    columns = found.texts, found.scores, found.target_tokens, found.token_scores
    if beams == 1:
        columns = [[[x] for x in column] for column in columns]
    for n in range(len(columns[0][0])):
        texts, scores, tokens, gains = ([x[n] for x in c] for c in columns)
        again = translator.score(NUMBERS, texts, batch_size=2)
        assert again.target_tokens == tokens
        np.testing.assert_allclose(again.scores, scores, atol=1e-4)
        for mine, given in zip(gains, again.token_scores, strict=True):
            np.testing.assert_allclose(mine, given, atol=1e-4)
    with pytest.raises(ValueError, match="`translations` needs one string"):
        translator.score(["1"], [])
    assert translator.score([], []).texts == []


@pytest.mark.slow
def test_it_goes_on_with_the_options_of_today():
    translator = make(search=ka.GreedySearch(max_length=8))
    assert translator(["1234"]) == [write("1234")]
    translator.search.max_length = 2
    assert translator(["1234"]) == [write("12")]
    translator.search = ka.BeamSearch(2, max_length=3)
    assert translator(["1234"]) == [write("123")]
    translator.max_source_length = 4
    with pytest.warns(UserWarning, match="truncates 1 of 1"):
        cut = translator(["1234"], return_attention_scores=True)
    assert cut.source_tokens == [["<s>", "1", "2", "</s>"]]


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("replace", [False, True])
def test_a_translation_begins_with_its_prefix(replace):
    """Also with what no vocabulary has, however unknown words are written."""
    translator = make(replace_unknown=replace, search=SEARCH)
    found = translator(["12", "34"], prefixes=["\u00e9y", ""])
    assert [text[:2] for text in found[0]] == ["\u00e9y"] * 2
    assert found[1] == translator(["34"])[0]


def test_what_is_exchanged_is_checked(tmp_path):
    translator = make()
    translator.save(tmp_path / "here")
    content = (tmp_path / "here" / "translator.json").read_text()
    translator.max_source_length = 0
    for use in (
        lambda: translator(["1"]),
        lambda: translator.save(tmp_path / "here"),
        lambda: translator.export(tmp_path / "there"),
    ):
        with pytest.raises(ValueError, match="max_source_length=0"):
            use()
    assert (tmp_path / "here" / "translator.json").read_text() == content
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sentences": "42"}, "into a list"),
        ({"sentences": np.array("42")}, "into a list"),
        ({"sentences": ["42", float("nan")]}, r"sentences\[1\]=nan"),
        ({"sentences": ["42"], "prefixes": [None]}, r"prefixes\[0\]=None"),
        ({"sentences": [["42"]]}, "one flat list"),
        ({"prefixes": ["v", ""]}, "2 prefixes for 1 sentences"),
        ({"prefixes": "v"}, "`prefixes` must be a list"),
        ({"verbose": 7}, "`verbose` must be one of"),
        ({"batch_size": 0}, "batch_size=0"),
    ],
)
def test_calls_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        tiny_translator()(**{"sentences": ["42"]} | arguments)


@pytest.mark.usefixtures("without_graphs")
def test_what_is_required_comes():
    """In every text, also behind a prefix; and what cannot come is told."""
    translator = make(search=ka.BeamSearch(8, n_best=2, max_length=8))
    plain = translator(NUMBERS)
    required = [[], ["zz"], ["xw", "s"], [], ["r"]]
    found = translator(NUMBERS, required=required, batch_size=2)
    for texts, phrases in zip(found, required, strict=True):
        assert all(phrase in text for text in texts for phrase in phrases)
    assert [found[0][0], found[3][0]] == [plain[0][0], plain[3][0]]
    options = {"prefixes": ["q"] * 5, "required": required}
    for texts, phrases in zip(
        translator(NUMBERS, **options), required, strict=True
    ):
        assert all(text.startswith("q") for text in texts)
        assert all(phrase in text for text in texts for phrase in phrases)
    for phrase in ("z" * 9, "?"):  # too long, and of no vocabulary
        with pytest.warns(UserWarning, match="no translation that contains"):
            found = translator(
                ["42"], required=[[phrase]], return_token_scores=True
            )
        assert found.texts == [["", ""]]
        assert found.token_scores[0][0].size == 0


@pytest.mark.parametrize(
    ("search", "required", "message"),
    [
        (ka.GreedySearch(8), [["z"]], "must be an instance of BeamSearch"),
        (ka.BeamSearch(4), [], "`required` needs one list of phrases per"),
        (ka.BeamSearch(4), ["zz"], r"`required\[0\]` must"),
    ],
)
def test_what_cannot_be_required_is_refused(search, required, message):
    with pytest.raises(ValueError, match=message):
        make(search=search)(["1"], required=required)
