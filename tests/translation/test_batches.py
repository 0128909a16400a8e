"""Rows of sentences: each read once, cut, sorted inside, in order outside."""

import sys

import numpy as np
import pytest
from tiny import tiny_translator

from keras_attention import Translator
from keras_attention.translation import program
from keras_attention.translation.program import Row

SENTENCES = ["1", "12345", "2", "12345", "3"]


def rows_of(texts):
    """Read a text as its letters."""
    return [Row([np.array([*map(ord, x)], "int32")]) for x in texts]


def run(sentences=SENTENCES, prefixes=None, batch_size=2, verbose=0, most=9):
    given = rows_of(sentences), prefixes, batch_size, most, verbose
    return [*program.in_batches(*given)]


def test_batches_are_of_similar_length_and_say_whose_they_are():
    found = run()
    assert [numbers for numbers, _ in found] == [[0, 2], [4, 1], [3]]
    _, (ids,) = found[1]
    assert ids.tolist() == [[51, 0, 0, 0, 0], [49, 50, 51, 52, 53]]


def test_nothing_needs_no_batch():
    assert run([]) == run([], prefixes=[]) == []


def test_long_rows_are_cut_and_closed_and_counted_before():
    tiny = tiny_translator()
    row = tiny._checked_program().read("12345", 4)
    wanted = tiny.source_tokenizer.tokenize(["12345"], 4)
    assert row.columns[0].tolist() == wanted[0].tolist()
    assert row.count == 7


def test_a_cut_source_is_that_of_the_tokenizer():
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    translator = Translator(*parts, tiny.search, max_source_length=4)
    with pytest.warns(
        UserWarning, match=r"truncates 1 of 2 .*sentences\[1\].* 7 tokens"
    ):
        found = translator(["12", "12999"])
    assert found == tiny(["12", "12"])


def test_long_prefixes_make_small_batches(monkeypatch):
    monkeypatch.setattr(program, "BYTES_AT_ONCE", 100)
    prefixes = ["", "", "3" * 1000, ""]
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
