"""Functions that run with other variables' states in place of their own."""

import keras
import pytest
from keras import ops
from samples import to_numpy

from keras_attention.backend.states import run_with_states


def test_other_states_are_read_and_changed():
    own, other = keras.Variable([1.0]), keras.Variable([5.0])

    def function(x):
        own.assign(own.value + x)
        return ops.convert_to_tensor(own.value) * 2

    found = run_with_states(function, (10.0,), [own], [other])
    values = [to_numpy(x).item() for x in (found, other.value, own.value)]
    assert values == [30.0, 15.0, 1.0]


def test_without_seeds_the_function_changes_what_it_likes():
    count = keras.Variable(0.0)
    run_with_states(lambda: count.assign(3.0), (), [], [])
    assert to_numpy(count.value) == 3.0


def test_each_seed_needs_a_state():
    seed = keras.Variable(0.0)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        run_with_states(lambda: None, (), [seed], [])
