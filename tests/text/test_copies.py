"""Copies: unknown words are told apart by where the source has them."""

import numpy as np
import pytest

from keras_attention import WordTokenizer
from keras_attention import parallel_dataset
from keras_attention.text import check_shared
from keras_attention.text import copied_ids

WORDS = WordTokenizer(["the", "meets", "."])  # with ids 4, 5, 6
V = WORDS.vocabulary_size
SOURCE = ["Ada meets the Ada of Bob .", "Bob .", ""]
TARGET = ["Bob meets Ada", "Ada meets Bob", "Bob"]


def spelled(text, source):
    pieces = WORDS.read(text)
    words = ["", *WORDS.read(source).texts()]
    return copied_ids(pieces.ids, pieces.texts(), words, V)


def test_a_word_has_the_place_where_it_stands_first():
    assert [spelled(text, text) for text in SOURCE] == [
        [V + 1, 5, 4, V + 1, V + 5, V + 6, 6],
        [V + 1, 6],
        [],
    ]


def test_a_target_has_words_of_its_source():
    pairs = zip(TARGET, SOURCE, strict=True)
    assert [spelled(*pair) for pair in pairs] == [
        [V + 6, 5, V + 1],
        [1, 5, V + 1],  # whose source has no Ada
        [1],
    ]


def test_a_dataset_spells_both_sides(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, lines in zip(paths, (SOURCE[:2], TARGET[:2]), strict=True):
        path.write_text("\n".join(lines))
    dataset = parallel_dataset(*paths, WORDS, WORDS, 2, buckets=1, copying=True)
    [((source, fed), told)] = dataset
    wanted = [2, *spelled(SOURCE[0], SOURCE[0]), 3]
    assert wanted in source.numpy().tolist()
    assert sorted(told.numpy().tolist()) == [
        [1, 5, V + 1, 3],
        [V + 6, 5, V + 1, 3],
    ]
    assert (fed.numpy()[:, 0] == 2).all()
    plain = parallel_dataset(*paths, WORDS, WORDS, 2, buckets=1)
    assert max(np.max(ids) for ids in next(iter(plain))[0]) < V


def test_vocabularies_must_be_one(tmp_path):
    other = WordTokenizer(["the", "meets", "!"])
    with pytest.raises(ValueError, match="one vocabulary"):
        parallel_dataset(tmp_path, tmp_path, WORDS, other, 2, copying=True)
    check_shared("x", WORDS, WordTokenizer(["the", "meets", "."]))
    with pytest.raises(ValueError, match="x needs one vocabulary"):
        check_shared("x", WORDS, other)
