import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text
from hostile import hostile_texts

from keras_attention.text.spaces import split_at_spaces

pytestmark = pytest.mark.tensorflow


def split(texts):
    text = tf.constant(texts, tf.string)
    return split_at_spaces(text, tensorflow_text.ByteSplitter()).to_list()


@pytest.mark.parametrize(
    "texts", [[], [""], ["", ""], [" "], ["a"], ["", "a", " ", "b c", ""]]
)
def test_rows_without_words_stay_empty(texts):
    assert split(texts) == [text.encode().split() for text in texts]


def test_any_bytes_are_split_at_spaces_alone():
    texts = hostile_texts(1300, ["Ein  Mann", " a b "], 8)
    found = split(texts)
    for row, text in zip(found, texts, strict=True):
        assert row == [word for word in text.split(b" ") if word]


@pytest.mark.parametrize("space", "\u0085\u00a0\u1680\u2003\u2028\u202f\u3000")
def test_longer_spaces_stay_whole(space):
    text = f"a{space}b {space} c".encode()
    assert split([text]) == [text.split(b" ")]


@pytest.mark.slow
def test_a_graph_splits_any_batch():
    splitter = tensorflow_text.ByteSplitter()
    graph = tf.function(
        lambda text: split_at_spaces(text, splitter).to_tensor()
    )
    graph = graph.get_concrete_function(tf.TensorSpec((None,), tf.string))
    for texts, width in ([], 0), (["a b", "c"], 2), (["x"], 1):
        found = graph(tf.constant(texts, tf.string))
        assert found.shape == (len(texts), width)
    np.testing.assert_array_equal(graph(tf.constant([" a"])), [[b"a"]])
