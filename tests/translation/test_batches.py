"""Rows of sentences: each read once, cut, sorted inside, in order outside."""

import sys

import numpy as np
import pytest
from tiny import tiny_translator

from keras_attention import Translator
from keras_attention.translation import batches

SENTENCES = [b"1", b"12345", b"2", b"12345", b"3"]


def read(texts):
    """Read a text as its letters, each the word of its id."""
    lengths = [len(x) for x in texts]
    ids = np.zeros((len(texts), max(lengths)), "int32")
    words = np.full(ids.shape, b"", object)
    for i, text in enumerate(texts):
        ids[i, : len(text)] = [*text]
        words[i, 1 : len(text)] = [text[j : j + 1] for j in range(1, len(text))]
    return ids, words


def run(sentences=SENTENCES, prefixes=None, batch_size=2, verbose=0, most=9):
    rows, _ = batches.read_rows(read, sentences, most)
    return [*batches.in_batches(rows, prefixes, batch_size, most, verbose)]


def test_batches_are_of_similar_length_and_say_whose_they_are():
    found = run()
    assert [numbers for numbers, _ in found] == [[0, 2], [4, 1], [3]]
    _, (ids, words) = found[1]
    assert ids.tolist() == [[51, 0, 0, 0, 0], [49, 50, 51, 52, 53]]
    assert words.tolist() == [[b""] * 5, [b"", b"2", b"3", b"4", b"5"]]


def test_what_goes_with_a_sentence_stays_with_it():
    found = run(prefixes=[b"a", b"b", b"c", b"d", b"e"])
    prefixes = [columns[2].tolist() for _, columns in found]
    assert prefixes == [[b"a", b"c"], [b"e", b"b"], [b"d"]]


def test_nothing_needs_no_batch():
    assert run([]) == run([], prefixes=[]) == []


def test_sentences_are_read_in_parts_of_bounded_memory(monkeypatch):
    def count(texts):
        sizes.append(len(texts))
        return read(texts)

    sizes, wanted = [], batches.read_rows(read, SENTENCES, 9)
    for name, value in (("READ_AT_ONCE", 2), ("BYTES_AT_ONCE", 6)):
        with monkeypatch.context() as patch:
            patch.setattr(batches, name, value)
            found = batches.read_rows(count, SENTENCES, 9)
        np.testing.assert_equal(found, wanted)
    assert sizes == [2, 2, 1, 1, 1, 1, 1, 1]


def test_long_rows_are_cut_and_closed_and_counted_before():
    rows, counts = batches.read_rows(read, SENTENCES[:2], 3)
    assert counts == [1, 5]
    assert [row[0].tolist() for row in rows] == [[49], [49, 50, 3]]
    assert rows[1][1].tolist() == [b"", b"2", b""]
    tiny = tiny_translator()
    rows, _ = batches.read_rows(tiny._find_graph().read, [b"12345"], 4)
    wanted = tiny.source_tokenizer.tokenize(["12345"], 4)
    assert rows[0][0].tolist() == wanted[0].numpy().tolist()


def test_a_cut_source_is_that_of_the_tokenizer():
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    translator = Translator(*parts, tiny.search, max_source_length=4)
    with pytest.warns(UserWarning, match=r"cuts 1 of 2 .*sentences\[1\].* 7\."):
        found = translator(["12", "12999"])
    assert found == tiny(["12", "12"])


def test_long_prefixes_make_small_batches(monkeypatch):
    monkeypatch.setattr(batches, "BYTES_AT_ONCE", 100)
    prefixes = [b"", b"", b"3" * 1000, b""]
    for most, sizes in ((2, [2, 1, 1]), (2000, [3, 1])):
        found = run(SENTENCES[:1] * 4, prefixes, batch_size=3, most=most)
        assert [len(numbers) for numbers, _ in found] == sizes


@pytest.mark.parametrize(
    ("batch_size", "verbose", "terminal", "shown"),
    [
        *((2, "auto", True, True), (2, "auto", False, False)),
        *((5, "auto", True, False), (5, 1, False, True), (2, 0, True, False)),
    ],
)
def test_a_bar_is_shown_if_it_is_worth_it(
    capsys, monkeypatch, batch_size, verbose, terminal, shown
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    run(batch_size=batch_size, verbose=verbose)
    assert ("5/5" in capsys.readouterr().out) == shown
    monkeypatch.setattr(sys, "stdout", None)
    assert run(batch_size=batch_size, verbose="auto")
