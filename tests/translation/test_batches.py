"""run_in_batches: sorted by length inside, in their own order outside."""

import sys

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    from tiny import tiny_translator

    from keras_attention.translation import TranslationGraph
    from keras_attention.translation import batches

SENTENCES = [b"1", b"12345", b"2", b"12345", b"3"]


def echo(*columns):
    """Give every text back, with its length as its score."""
    echo.seen.append([column.tolist() for column in columns])
    texts = np.array([b"".join(row) for row in zip(*columns, strict=True)])
    scores = np.array([[len(text)] for text in texts], "float32")
    answer = {"translations": texts[:, None].astype(object), "scores": scores}
    return {
        "translations": tf.constant(answer["translations"]),
        "scores": tf.constant(scores),
    }


def run(columns, batch_size=2, verbose=0, max_source_length=9):
    echo.seen = []
    counts = [len(text) for text in columns[0]]
    return batches.run_in_batches(
        echo, columns, counts, batch_size, max_source_length, verbose
    )


def test_batches_are_of_similar_length_and_keep_their_order():
    found = run([SENTENCES])
    assert [len(seen[0]) for seen in echo.seen] == [2, 2, 1]
    lengths = [[len(text) for text in seen[0]] for seen in echo.seen]
    assert lengths == [[1, 1], [1, 5], [5]]
    assert [x.texts for x in found] == [x.decode() for x in SENTENCES]
    assert [x.scores for x in found] == [1, 5, 1, 5, 1]


def test_what_goes_with_a_sentence_stays_with_it():
    found = run([SENTENCES, [b"a", b"b", b"c", b"d", b"e"]])
    assert [x.texts[-1] for x in found] == [*"abcde"]


def test_nothing_needs_no_batch():
    assert run([[]]) == []
    assert echo.seen == []


@pytest.mark.parametrize("column", [0, 1])
def test_long_texts_make_small_batches(column, monkeypatch):
    monkeypatch.setattr(batches, "BYTES_AT_ONCE", 100)
    columns = [[b"1", b"2", b"3", b"4"], [b""] * 4]
    columns[column][2] = b"3" * 1000
    found = run(columns, batch_size=3, max_source_length=2)
    assert [len(seen[0]) for seen in echo.seen] == (
        [3, 1] if column == 0 else [2, 1, 1]
    )
    assert [x.scores for x in found] == [1, 1, 1000 + column, 1]
    run(columns, batch_size=3, max_source_length=2000)
    assert [len(seen[0]) for seen in echo.seen] == [3, 1]


@pytest.mark.parametrize(
    ("batch_size", "verbose", "terminal", "shown"),
    [
        (2, "auto", True, True),
        (2, "auto", False, False),
        (5, "auto", True, False),
        (5, 1, False, True),
        (2, 0, True, False),
    ],
)
def test_a_bar_is_shown_if_it_is_worth_it(
    capsys, monkeypatch, batch_size, verbose, terminal, shown
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    run([SENTENCES], batch_size, verbose)
    assert ("5/5" in capsys.readouterr().out) == shown


def test_a_program_without_an_output_shows_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert len(run([SENTENCES], verbose="auto")) == 5


def test_ids_are_counted_in_parts(monkeypatch):
    monkeypatch.setattr(batches, "COUNTED_AT_ONCE", 2)
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    graph = TranslationGraph(*parts, tiny.search, max_source_length=4)
    assert batches.count_ids(graph, SENTENCES) == [3, 7, 3, 7, 3]
    assert batches.count_ids(graph, []) == []
    monkeypatch.setattr(batches, "BYTES_AT_ONCE", 1)
    assert batches.count_ids(graph, SENTENCES) == [3, 7, 3, 7, 3]
