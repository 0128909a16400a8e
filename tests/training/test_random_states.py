"""Random states: all numbers that are drawn are drawn again."""

import random

import keras
import numpy as np

from keras_attention.training.random_states import find_shared_generator
from keras_attention.training.random_states import random_states
from keras_attention.training.random_states import set_random_states


def draw():
    drawn = [random.random(), np.random.rand(), np.random.randn()]
    shared = keras.random.uniform(())
    drawn.append(float(keras.ops.convert_to_numpy(shared)))
    if keras.backend.backend() == "torch":
        import torch

        drawn.append(float(torch.rand(())))
    return drawn


def test_numbers_are_drawn_again():
    shared = find_shared_generator()
    np.random.randn()  # keeps a second number for later
    states = random_states(shared)
    drawn = [draw(), draw()]
    assert drawn[0] != drawn[1]
    set_random_states(states, shared)
    assert [draw(), draw()] == drawn


def test_finding_the_generator_changes_nothing():
    keras.random.SeedGenerator(5)
    shared = find_shared_generator()
    states = random_states(shared)
    expected = draw()
    set_random_states(states, shared)
    assert find_shared_generator() is shared
    assert draw() == expected


def test_is_found_before_it_is_made():
    keras.utils.set_random_seed(4)  # forgets it
    python = random.getstate()
    shared = find_shared_generator()
    assert random.getstate() == python
    before = np.array(keras.ops.convert_to_numpy(shared.state))
    keras.random.uniform(())
    after = np.array(keras.ops.convert_to_numpy(shared.state))
    assert (before != after).any()
