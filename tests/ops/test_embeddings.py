"""embeddings: rows of a table, whose gradient is one matrix."""

import keras
import numpy as np
import pytest
from gradients import BACKEND
from gradients import gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops

from keras_attention.ops.embeddings import take_words

IDS = np.array([[3, 1, 3], [3, 0, 1]])
TABLE = np.arange(10.0).reshape(5, 2)


def test_takes_rows():
    got = take_words(to_tensor(TABLE), IDS)
    np.testing.assert_array_equal(to_numpy(got), TABLE[IDS])


def test_the_gradient_adds_what_occurs_several_times():
    weights = np.arange(1.0, 13.0).reshape(2, 3, 2)
    want = np.zeros((5, 2))
    np.add.at(want, IDS, weights)
    (got,) = gradients(
        lambda table: ops.sum(take_words(table, IDS) * to_tensor(weights)),
        [TABLE],
    )
    np.testing.assert_array_equal(got, want)


@pytest.mark.tensorflow
@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="others have no slices"
)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_it_is_a_tensor(jit_compile):
    table = keras.Variable(TABLE)

    @BACKEND.function(jit_compile=jit_compile)
    def slope():
        with BACKEND.GradientTape() as tape:
            total = ops.sum(take_words(table, IDS))
        (found,) = tape.gradient(total, [table.value])
        assert isinstance(found, BACKEND.Tensor)
        return found

    np.testing.assert_array_equal(slope()[:, 0], [1, 2, 0, 3, 0])
