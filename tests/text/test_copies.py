"""Copies: unknown words are told apart by where the source has them."""

import numpy as np
import pytest

from keras_attention import WordTokenizer
from keras_attention import parallel_dataset
from keras_attention.text import aligned_words
from keras_attention.text import check_shared
from keras_attention.text import copied_words
from keras_attention.text import spell_source
from keras_attention.text import spell_target

WORDS = WordTokenizer(["the", "meets", "."])  # with ids 4, 5, 6
V = WORDS.vocabulary_size
SOURCE = ["Ada meets the Ada of Bob .", "Bob .", ""]
TARGET = ["Bob meets Ada", "Ada meets Bob", "Bob"]


def spelled(max_length=None):
    ids = WORDS.tokenize(SOURCE, max_length)
    words = aligned_words(WORDS, SOURCE, ids)
    return spell_source(ids, words, V), words


def test_a_word_has_the_place_where_it_stands_first():
    ids, _ = spelled()
    assert ids.numpy().tolist() == [
        [2, V + 1, 5, 4, V + 1, V + 5, V + 6, 6, 3],
        [2, V + 1, 6, 3, 0, 0, 0, 0, 0],
        [2, 3, 0, 0, 0, 0, 0, 0, 0],
    ]


def test_what_is_cut_is_not_copied():
    ids, words = spelled(max_length=4)
    assert ids.numpy().tolist()[0] == [2, V + 1, 5, 3]
    assert words.numpy().tolist()[0] == [b"", b"Ada", b"meets", b""]


@pytest.mark.parametrize("is_spelled", [True, False])
def test_a_target_says_words_of_its_source(is_spelled):
    source_ids, source_words = spelled()
    if not is_spelled:
        source_ids = WORDS.tokenize(SOURCE)
    ids = WORDS.tokenize(TARGET)
    words = aligned_words(WORDS, TARGET, ids)
    ids = spell_target(ids, words, source_ids, source_words, V)
    assert ids.numpy().tolist() == [
        [2, V + 6, 5, V + 1, 3],
        [2, 1, 5, V + 1, 3],  # whose source has no Ada
        [2, 1, 3, 0, 0],
    ]
    copied = copied_words(ids, source_words, V).numpy().tolist()
    assert copied[0] == [b"", b"Bob", b"", b"Ada", b""]
    assert copied[1] == [b"", b"", b"", b"Bob", b""]


def test_hypotheses_are_copied_from_one_source():
    _, words = spelled()
    ids = np.array([[[V + 1, V + 5], [4, V + 99]]] * 3, "int32")
    found = copied_words(ids, words, V).numpy().tolist()
    assert found[0] == [[b"Ada", b"of"], [b"", b""]]


def test_an_empty_batch_is_one():
    ids = WORDS.tokenize(np.array([], object))
    words = aligned_words(WORDS, np.array([], object), ids)
    assert spell_source(ids, words, V).shape == ids.shape


def test_a_dataset_spells_both_sides(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, lines in zip(paths, (SOURCE[:2], TARGET[:2]), strict=True):
        path.write_text("\n".join(lines))
    dataset = parallel_dataset(*paths, WORDS, WORDS, 2, buckets=1, copying=True)
    [((source, fed), told)] = dataset
    assert spelled()[0].numpy().tolist()[0] in source.numpy().tolist()
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
