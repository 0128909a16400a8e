"""Segments and largest entries: what TensorFlow gives."""

import numpy as np
import pytest

from keras_attention.text.arrays import math

tf = pytest.importorskip("tensorflow")


def test_the_smallest_of_each_segment():
    data, segments = np.array([4, 2, 7, 1]), np.array([1, 0, 1, 0])
    wanted = tf.math.unsorted_segment_min(data, segments, 2).numpy()
    found = math.unsorted_segment_min(data, segments, 2)
    assert found.tolist() == wanted.tolist() == [1, 4]


def test_the_first_of_equal_entries_is_the_largest():
    x = np.array([[[1, 3, 3], [0, 0, 0]]], "float32")
    for found, wanted in zip(math.top_k(x), tf.math.top_k(x), strict=True):
        assert found.tolist() == wanted.numpy().tolist()
