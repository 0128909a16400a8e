"""Positions of shuffled datasets: known again, and moved."""

import gc

import numpy as np
import pytest

from keras_attention.data import Position
from keras_attention.data import positions
from keras_attention.data import read_positions
from keras_attention.data import set_positions

NUMBERS = np.array([3, 4, 5, 2, 6, 3])


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setattr(positions, "_shuffled", type(positions._shuffled)())


def remembered(seed=7, numbers=NUMBERS, batch_size=2):
    position = Position(seed, lambda: [numbers[:4], numbers[4:]], batch_size)
    position.remember()
    return position


def draw(position):
    return position.next_epoch()[1].integers(0, 10**9)


def test_numbers_are_known_by_their_values(monkeypatch):
    """Whatever holds them, and in whatever parts they are read."""
    wanted = remembered().content
    assert remembered(numbers=NUMBERS.astype("int32")).content == wanted
    monkeypatch.setattr(positions, "AT_ONCE", 3)
    assert remembered().content == wanted
    assert remembered(numbers=NUMBERS[::-1]).content != wanted


def test_epochs_are_drawn_anew_and_again():
    one, other = remembered(), remembered()
    drawn = [draw(one) for _ in range(3)]
    assert len(set(drawn)) == 3
    assert drawn == [draw(other) for _ in range(3)]
    assert draw(remembered(8)) != drawn[0]


def test_goes_to_where_another_was():
    one = remembered(seed=None)
    draw(one)
    saved = read_positions()
    expected = draw(one)
    del one
    gc.collect()
    other = remembered(seed=None)
    set_positions(saved)
    assert draw(other) == expected


def test_of_equal_ones_the_last_is_the_last():
    one, other = remembered(), remembered()
    draw(other)
    saved = read_positions()
    assert [x["epoch"] for x in saved] == [0, 1]
    del one, other
    gc.collect()
    assert read_positions() == []
    again = remembered()
    set_positions(saved)
    assert again.epoch == 1


@pytest.mark.parametrize(
    "other",
    [{"seed": 8}, {"numbers": NUMBERS + 1}, {"batch_size": 3}],
)
def test_other_data_is_an_error_if_it_was_used(other):
    one = remembered()
    before = read_positions()
    draw(one)
    after = read_positions()
    del one
    gc.collect()
    kept = remembered(**other)
    set_positions(before)
    with pytest.raises(ValueError, match="another seed, batch size or text"):
        set_positions(after)
    assert kept.epoch == 0
