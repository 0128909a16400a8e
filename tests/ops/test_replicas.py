"""Replicas: without a strategy there is one. (More: `tests/backend`.)"""

import keras
import numpy as np
from keras import ops

from keras_attention.ops.replicas import count_replicas
from keras_attention.ops.replicas import own_seed
from keras_attention.ops.replicas import sum_over_replicas


def test_one_replica_has_all_rows():
    assert count_replicas() == 1
    x = ops.convert_to_tensor(np.array([1.0, 2.0], "float32"))
    one, other = sum_over_replicas(x, 2 * x)
    np.testing.assert_array_equal(ops.convert_to_numpy(one), [1, 2])
    np.testing.assert_array_equal(ops.convert_to_numpy(other), [2, 4])


def test_one_replica_draws_from_the_generator_itself():
    generator = keras.random.SeedGenerator(0)
    assert own_seed(generator) is generator
