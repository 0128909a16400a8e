"""The forms that sentences come in."""

import re

import numpy as np
import pytest
import tensorflow as tf

from keras_attention.data.pairs import read_parallel
from keras_attention.files import split_in_parts
from keras_attention.search import BeamSearch
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import as_texts
from keras_attention.training import ValidationScores
from keras_attention.training import score_texts
from keras_attention.translation.checks import read_phrases


class Column:
    """A column of a table, as a pandas Series is one."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, object)

    def __iter__(self):
        return iter(self.values)


def sliced(x):
    return tf.data.Dataset.from_tensor_slices(x)


TEXTS = ["eins", "zwei", "drei"]


@pytest.mark.parametrize(
    "form",
    [
        *(list, tuple, iter, np.array),
        lambda x: np.array(x, object),
        lambda x: [s.encode() for s in x],
        lambda x: np.array(x, "S"),
        lambda x: tf.constant(x),
        lambda x: sliced(x),
        lambda x: sliced(x).batch(2),
        lambda x: dict.fromkeys(x).keys(),
        Column,
    ],
)
def test_every_form_gives_the_same(form):
    found = as_texts("sentences", form(TEXTS))
    assert found == TEXTS
    assert {type(x) for x in found} == {str}


def test_nothing_is_a_list_of_nothing():
    assert as_texts("sentences", []) == []
    assert as_texts("sentences", sliced(TEXTS).take(0)) == []


def test_half_a_surrogate_pair_stops_nobody():
    assert as_texts("sentences", ["a\udcffb", "ü"]) == ["a?b", "ü"]


@pytest.mark.parametrize(
    ("wrong", "way_out"),
    [
        *((x, "single string into a list") for x in ("eins", b"eins", 5, None)),
        *(
            (np.array(x), "single string into a list")
            for x in ("eins", b"eins")
        ),
        (lambda: tf.constant("eins"), "single string into a list"),
        ({"first": "eins", "second": "zwei"}, "list of its values"),
        *((kind(TEXTS), "have the same order") for kind in (set, frozenset)),
        (np.ma.array(TEXTS, mask=[0, 1, 0]), r'`filled\(""\)`'),
    ],
)
def test_what_would_lose_something_is_refused(wrong, way_out):
    wrong = wrong() if callable(wrong) else wrong
    with pytest.raises(ValueError, match=rf"prefixes=(?s:.*){way_out}"):
        as_texts("prefixes", wrong)


def test_a_ragged_tensor_is_made_flat():
    ragged = tf.ragged.constant([["eins"], ["zwei", "drei"]])
    with pytest.raises(ValueError, match="Pass its `flat_values`"):
        as_texts("sentences", ragged)
    assert as_texts("sentences", ragged.flat_values) == TEXTS


def test_a_tensor_of_a_graph_is_refused():
    @tf.function
    def graph(text):
        as_texts("sentences", text)

    with pytest.raises(
        ValueError, match="In a graph, call an exported SavedModel"
    ):
        graph(tf.constant(["eins"]))


def echo(texts, batch_size):
    return texts


READERS = {
    "prefixes": lambda x: as_texts("prefixes", x),
    "text": CharacterTokenizer("a").tokenize,
    "sentences_or_files": lambda x: SymbolTokenizer.train(x),
    "sources": lambda x: read_parallel(x, x),
    "references": lambda x: ValidationScores(echo, ["a"] * 4, x, "accuracy"),
    "texts": lambda x: score_texts("accuracy", x, [["a"] * 4]),
    "required[0]": lambda x: read_phrases([x], 1, BeamSearch(2)),
}


@pytest.mark.parametrize("form", [list, Column])
@pytest.mark.parametrize("wrong", [5, None, float("nan")])
@pytest.mark.parametrize("name", READERS)
def test_what_is_missing_is_named(form, name, wrong):
    said = re.escape(f"{name}[1]={wrong!r}, and 1 more that")
    with pytest.raises(ValueError, match=f"{said}.* for missing values"):
        READERS[name](form(["a", wrong, "a", None]))


@pytest.mark.parametrize("wrong", [["b"], np.array(["b"]), ("b",)])
def test_lists_in_a_list_are_named(wrong):
    with pytest.raises(ValueError, match=r"prefixes\[1\]=.* one flat list"):
        as_texts("prefixes", ["a", wrong])


def test_a_table_is_refused():
    """Its columns' names, or rows of several strings, are no sentences."""
    table = Column([["a", "b"], ["c", "d"]])
    message = r"shape=\(2, 2\). Select one column"
    for wrong in (table, table.__array__(), tf.constant(table.values)):
        with pytest.raises(ValueError, match=message):
            as_texts("sentences", wrong)


@pytest.mark.parametrize(
    "content",
    [(TEXTS, TEXTS), {"a": TEXTS, "b": TEXTS}, [[x, x] for x in TEXTS], [1, 2]],
)
def test_a_dataset_of_anything_else_is_refused(content):
    """Pairs would be taken for sentences, one after the other."""
    dataset = sliced(content)
    for wrong in (dataset.batch(2), dataset.batch(2).batch(2)):
        with pytest.raises(ValueError, match=r"\.map\(lambda source, target"):
            as_texts("sentences", wrong)
    if isinstance(content, tuple):
        sources = dataset.map(lambda source, _: source)
        assert as_texts("sentences", sources) == TEXTS


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        *(([], []), ([99], [[99]]), ([1, 1, 1, 1], [[1, 1, 1], [1]])),
        *(([1, 99, 1], [[1], [99], [1]]), ([4, 5, 5, 5], [[4, 5], [5, 5]])),
        ([0, 0, 10, 0], [[0, 0], [10], [0]]),
    ],
)
def test_parts_are_bounded_when_padded(sizes, parts):
    found = split_in_parts(iter(sizes), lambda size: size, most=3, room=10)
    assert [*found] == parts
    items = iter("abc")  # a full part waits for nothing
    assert next(split_in_parts(items, len, 2, 9)) == ["a", "b"]
    assert [*items] == ["c"]


def test_a_dataset_without_end_is_refused():
    said = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    finite = sliced(TEXTS)  # ends if it is read
    endless = finite.repeat()
    for dataset in (finite.apply(said), endless):
        with pytest.raises(ValueError, match="which repeats forever"):
            as_texts("sentences", dataset)
    assert as_texts("sentences", endless.take(4)) == [*TEXTS, "eins"]
