"""counted_alone: functions of the same code are told apart."""

import keras
import pytest

from keras_attention.backend.tracing import counted_alone

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def make(number):
    return lambda x: x + number


def key(function):
    """What TensorFlow counts traces by."""
    return tf.function(function)._key_for_call_stats


def test_each_function_is_counted_for_itself():
    one, other = make(1), make(2)
    assert key(one) is key(other)
    assert key(counted_alone(one)) is not key(counted_alone(other))


def test_it_is_traced_as_before():
    traced = tf.function(
        counted_alone(make(2)), [tf.TensorSpec((None,), tf.int32, "numbers")]
    )
    assert traced(tf.constant([1, 2])).numpy().tolist() == [3, 4]
