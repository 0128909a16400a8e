"""loops_as_keras: layers whose loop may be replaced."""

import pytest
from keras import layers

from keras_attention.layers import loops_as_keras


class OwnCall(layers.LSTM):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        return super().call(sequences, initial_state, mask, training)


class OwnLoop(layers.GRU):
    def inner_loop(self, sequences, initial_state, mask, training=False):
        return super().inner_loop(sequences, initial_state, mask, training)


class OwnName(layers.SimpleRNN):
    pass


@pytest.mark.parametrize(
    ("layer", "wanted"),
    [
        (layers.LSTM(2), True),
        (layers.RNN([layers.GRUCell(2)]), True),
        (OwnName(2), True),
        (OwnCall(2), False),
        (OwnLoop(2), False),
        (layers.Dense(2), False),
        (layers.Bidirectional(layers.GRU(2)), False),
    ],
)
def test_a_loop_of_its_own_is_seen(layer, wanted):
    assert loops_as_keras(layer) == wanted
