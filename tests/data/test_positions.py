"""Positions of shuffled datasets: known again, and moved."""

import gc
import hashlib

import numpy as np
import pytest

from keras_attention.data import Position
from keras_attention.data import read_positions
from keras_attention.data import set_positions

LENGTHS = np.array([[3, 4, 5], [2, 6, 3]])


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setattr("keras_attention.data.positions._shuffled", [])


def remembered(seed=7, lengths=LENGTHS, batch_size=2):
    position = Position(seed, lengths, batch_size)
    position.remember()
    return position


def test_lengths_are_known_by_their_values():
    """Whatever holds them, and however they are split."""
    wanted = remembered().content
    assert remembered(lengths=LENGTHS.astype("int32")).content == wanted
    parts = iter(np.split(LENGTHS.ravel(), [2, 3]))
    assert remembered(lengths=parts).content == wanted
    known = hashlib.sha256(LENGTHS.astype("int64").tobytes() + b"(7, 2)")
    assert wanted == known.hexdigest()  # as saved states have it


def draw(position):
    return position.next_generator().integers(0, 10**9)


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
    [{"seed": 8}, {"lengths": LENGTHS + 1}, {"batch_size": 3}],
)
def test_other_data_is_an_error_if_it_was_in_use(other):
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
