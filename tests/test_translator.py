"""Translator: text in, text out, saved and loaded as one thing."""

import json
import shutil

import keras
import numpy as np
import pytest
from tiny import tiny_translator
from tiny import write

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention import AbstractSearch
    from keras_attention import BeamSearch
    from keras_attention import Generation
    from keras_attention import GreedySearch
    from keras_attention import Translation
    from keras_attention import Translator


def with_search(search, **options):
    """Make another translator of the same parts."""
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    return Translator(*parts, search, **options)


NUMBERS = ["7", "1234", "905", "42", "6006"]


def test_it_translates():
    assert tiny_translator()(NUMBERS) == [write(n) for n in NUMBERS]


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_batches_do_not_matter(batch_size):
    translator = tiny_translator()
    texts = translator(NUMBERS, batch_size=batch_size)
    assert texts == [write(n) for n in NUMBERS]


def test_sentences_come_as_a_dataset_too():
    dataset = tf.data.Dataset.from_tensor_slices(NUMBERS).batch(2)
    assert tiny_translator()(dataset) == [write(n) for n in NUMBERS]


def test_a_long_list_keeps_its_order_and_has_a_bar(capsys):
    draw = np.random.default_rng(1).integers
    numbers = [str(draw(0, 10 ** draw(1, 5))) for _ in range(70)]
    translator = tiny_translator()
    translated = translator(numbers, batch_size=16)
    assert "70/70" in capsys.readouterr().out
    assert translator(numbers, batch_size=70) == translated
    assert translator(numbers, batch_size=16, verbose=0) == translated
    assert capsys.readouterr().out == ""
    right = sum(t == write(n) for t, n in zip(translated, numbers, strict=True))
    assert right >= 65


def test_batches_are_of_similar_length(monkeypatch):
    seen = []
    translator = tiny_translator()
    translate = translator._graph.translate

    def watch(text):
        seen.append([len(one) for one in text])
        return translate(text)

    monkeypatch.setattr(translator._graph, "translate", watch)
    translator(["1", "12345", "2", "12345", "3"], batch_size=2, verbose=0)
    assert seen == [[1, 1], [1, 5], [5]]


def test_several_texts_come_best_first():
    translator = with_search(BeamSearch(beam_size=4, n_best=3, max_length=8))
    texts = translator(NUMBERS)
    assert [row[0] for row in texts] == [write(n) for n in NUMBERS]
    assert all(len(set(row)) == 3 for row in texts)
    told = translator(NUMBERS, return_scores=True, return_attention_scores=True)
    assert told.texts == texts
    for scores in told.scores:
        assert scores == sorted(scores, reverse=True)
    for rows, source, weights in zip(
        told.target_tokens, told.source_tokens, told.attention, strict=True
    ):
        longest = max(map(len, rows))
        assert weights.shape == (3, longest, len(source))


def test_prefixes_come_first():
    translator = tiny_translator()
    plain = translator(NUMBERS)
    none = translator(NUMBERS, prefixes=[""] * len(NUMBERS))
    assert none == plain
    forced = translator(NUMBERS, prefixes=["r", "", "zz", "", "q"])
    assert forced[1::2] == plain[1::2]
    assert [t[0] for t in forced[::2]] == ["r", "z", "q"]
    assert forced[2].startswith("zz")
    told = translator(
        ["7"], prefixes=["r"], return_scores=True, return_attention_scores=True
    )
    assert told.target_tokens[0][0] == "r"
    assert told.scores[0] < -1  # the model would not have said that


def test_what_is_too_long_is_cut_with_a_warning():
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    short = Translator(*parts, tiny.search, max_source_length=5)
    with pytest.warns(UserWarning, match=r"cuts 1 of 3 .* sentences\[1\]"):
        texts = short(["123", "12345", "7"])
    assert texts == tiny(["123", "123", "7"])


def test_a_book_is_cut_and_changes_no_other_row():
    with pytest.warns(UserWarning, match="max_source_length=1024"):
        texts = tiny_translator()(["42", "1 2 3 " * 20_000, "7"])
    assert texts[::2] == ["vx", "s"]


def test_unknown_words_are_those_of_the_source():
    class Lost(AbstractSearch):
        """Knows the first letter, and attends to columns 2, 1 and 0."""

        def __call__(self, step, state, batch_size, memory_mask, **_):
            tokens = tf.tile([[[4, 1, 1, 3]]], [batch_size, 1, 1])
            columns = tf.one_hot([[[3, 2, 1, 0]]], tf.shape(memory_mask)[1])
            ends = tf.constant([9.0, 1.0, 1.0, 1.0, 9.0])  # are no words
            weights = columns + ends[: tf.shape(memory_mask)[1]]
            weights = tf.tile(weights, [batch_size, 1, 1, 1])
            zeros = tf.zeros((batch_size, 1))
            return Generation(tokens, zeros, zeros, weights)

    first = tiny_translator().target_tokenizer.get_config()["vocabulary"][0]
    found = with_search(Lost(), replace_unknown=True)(["123", "9x8"])
    assert found == [f"{first}21", f"{first}x9"]
    plain = with_search(Lost())(["123"])
    assert plain == [f"{first}\ufffd\ufffd"]


def test_unknown_words_need_attention():
    tiny = tiny_translator(attention=False)
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    with pytest.raises(ValueError, match="`replace_unknown` needs a model"):
        Translator(*parts, replace_unknown=True)(["1"])


def test_other_backends_and_xla_go_through_the_same_text():
    tiny = tiny_translator()
    wanted = tiny(NUMBERS, return_scores=True, return_attention_scores=True)
    tiny.model.compile("sgd", jit_compile=True)
    again = with_search(tiny.search)
    found = again(NUMBERS, return_scores=True, return_attention_scores=True)
    tiny.model.compile("sgd", jit_compile=False)
    assert not hasattr(again._graph.translate, "get_concrete_function")
    for x, y in zip(found, wanted, strict=True):
        if isinstance(x[0], float):
            np.testing.assert_allclose(x, y, atol=1e-4)
        elif isinstance(x[0], np.ndarray):
            for a, b in zip(x, y, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-4)
        else:
            assert x == y


def test_nothing_and_empty_text():
    translator = tiny_translator()
    assert translator([]) == []
    assert translator([], return_scores=True).scores == []
    assert len(translator(["", "1"])) == 2


@pytest.mark.parametrize(
    "text", ["\udcff", "\0", "🙂" * 50, "שלום", b"\xff\xfe"]
)
def test_odd_text_changes_no_other_row(text):
    assert tiny_translator()(["42", text, "7"])[::2] == ["vx", "s"]


def test_it_tells_what_is_asked_for():
    translator = tiny_translator()
    plain = translator(NUMBERS)
    scored = translator(NUMBERS, return_scores=True)
    assert isinstance(scored, Translation)
    assert scored.texts == plain
    assert scored.attention is None
    assert scored.source_tokens is None
    assert all(score < 0 for score in scored.scores)
    aligned = translator(NUMBERS, return_attention_scores=True)
    assert aligned.scores is None
    assert aligned.texts == plain
    for number, source, target, weights in zip(
        NUMBERS, *aligned[2:], strict=True
    ):
        assert source == ["<s>", *number, "</s>"]
        assert target == [*write(number), "</s>"]
        assert weights.shape == (len(target), len(source))
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


def test_save_and_load(tmp_path):
    translator = tiny_translator()
    translator.save(tmp_path / "digits")
    translator.save(tmp_path / "digits")  # replaces what it wrote
    shutil.move(tmp_path / "digits", tmp_path / "moved")
    again = Translator.load(str(tmp_path / "moved"))
    wanted = translator(NUMBERS, return_scores=True)
    assert again(NUMBERS, return_scores=True) == wanted
    assert again.search.get_config() == translator.search.get_config()


def test_options_are_saved(tmp_path):
    search = GreedySearch(max_length=5)
    translator = with_search(search, max_source_length=7, replace_unknown=True)
    translator.save(tmp_path)
    again = Translator.load(tmp_path)
    assert again.max_source_length == 7
    assert again.replace_unknown
    assert again.search.max_length == 5


@pytest.mark.parametrize(
    "name",
    [
        "translator.json",
        "model.keras",
        "source_tokenizer/tokenizer.json",
        "target_tokenizer/tokenizer.json",
    ],
)
def test_load_names_the_damaged_file(tmp_path, name):
    tiny_translator().save(tmp_path / "digits")
    file = tmp_path / "digits" / name
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ValueError, match=name):
        Translator.load(tmp_path / "digits")
    file.unlink()
    with pytest.raises(ValueError, match=name):
        Translator.load(tmp_path / "digits")


def test_a_flipped_bit_is_named(tmp_path):
    tiny_translator().save(tmp_path)
    file = tmp_path / "model.keras"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.keras.* CRC"):
        Translator.load(tmp_path)


@pytest.mark.parametrize("content", ["", "3", "[]", "{}", '{"search": 3}'])
def test_another_translator_json_is_named(tmp_path, content):
    tiny_translator().save(tmp_path)
    (tmp_path / "translator.json").write_text(content)
    with pytest.raises(ValueError, match=r"translator\.json, which cannot"):
        Translator.load(tmp_path)


def test_load_refuses_another_search(tmp_path):
    tiny_translator().save(tmp_path / "digits")
    file = tmp_path / "digits" / "translator.json"
    file.write_text(json.dumps({"search": {"class_name": "Nothing"}}))
    with pytest.raises(ValueError, match=r"translator\.json"):
        Translator.load(tmp_path / "digits")


def test_save_will_not_replace_what_others_wrote(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ValueError, match="Will not replace"):
        tiny_translator().save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_refuses_what_it_cannot_use(tmp_path):
    translator = tiny_translator()
    model = translator.model
    small, large = translator.target_tokenizer, translator.source_tokenizer
    with pytest.raises(ValueError, match="into a list"):
        translator("42")
    with pytest.raises(ValueError, match="one flat list"):
        translator([["42"]])
    with pytest.raises(ValueError, match="2 prefixes for 1 sentences"):
        translator(["42"], prefixes=["v", ""])
    with pytest.raises(ValueError, match="`prefixes` must be a list"):
        translator(["42"], prefixes="v")
    with pytest.raises(ValueError, match="verbose"):
        translator(["42"], verbose=7)
    with pytest.raises(ValueError, match="batch_size"):
        translator(["42"], batch_size=0)
    with pytest.raises(ValueError, match="generates"):
        Translator(keras.layers.Dense(1), large, small)
    bigger = type(large)([*large.get_config()["vocabulary"], *"abcdefghijk"])
    with pytest.raises(ValueError, match="source_tokenizer"):
        Translator(model, bigger, small)
    with pytest.raises(ValueError, match="max_source_length"):
        Translator(model, large, small, max_source_length=0)
    with pytest.raises(ValueError, match="format"):
        translator.export(tmp_path / "x", format="pickle")
    with pytest.raises(ValueError, match="format"):
        translator.export(tmp_path / "x", quantize="int8")


def test_a_model_without_weights_is_refused():
    tiny = tiny_translator()
    empty = type(tiny.model).from_config(tiny.model.get_config())
    with pytest.raises(ValueError, match="call it once"):
        Translator(empty, tiny.source_tokenizer, tiny.target_tokenizer)
