"""Batches for Keras: one epoch after another, in its own order."""

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.text.batch_sequence import BatchSequence


class Epochs:
    """Epochs of four batches: tens say which epoch."""

    def __init__(self):
        self.count = 0

    def __len__(self):
        return 4

    def __call__(self):
        self.count += 1
        yield from range(10 * self.count, 10 * self.count + 4)


def read(sequence, *indices):
    """What Keras does in an epoch of `fit` or `evaluate`."""
    sequence.on_epoch_begin()
    found = [sequence[i] for i in indices]
    sequence.on_epoch_end()
    return found


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_the_order_is_that_of_the_epoch(order):
    sequence = BatchSequence(Epochs())
    assert len(sequence) == sequence.num_batches == 4
    assert read(sequence, *order) == [10, 11, 12, 13]
    assert read(sequence, *order) == [20, 21, 22, 23]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_a_first_look_costs_an_epoch(order):
    """As of a `tf.data.Dataset`, when `fit` builds a model."""
    sequence = BatchSequence(Epochs())
    assert read(sequence, order[0]) == [10]
    assert read(sequence, *order) == [20, 21, 22, 23]


def test_short_epochs_of_fit_go_on():
    """With `steps_per_epoch=3` it asks for the next numbers."""
    sequence = BatchSequence(Epochs())
    assert read(sequence, 0, 1, 2) == [10, 11, 12]
    assert read(sequence, 3, 0, 1) == [13, 20, 21]


def test_an_epoch_that_was_left_does_not_go_on():
    sequence = BatchSequence(Epochs())
    sequence.on_epoch_begin()  # and `stop_training` after two batches
    assert [sequence[2], sequence[0]] == [10, 11]
    assert read(sequence, 3, 1, 0, 2) == [20, 21, 22, 23]


def test_each_walk_is_an_epoch():
    sequence = BatchSequence(Epochs())
    assert [*sequence] == [10, 11, 12, 13]
    assert [*sequence] == [20, 21, 22, 23]
