"""The forms that sentences come in."""

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention.text import as_bytes

TEXTS = ["eins", "zwei", "drei"]
WANTED = [b"eins", b"zwei", b"drei"]


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        iter,
        np.array,
        lambda x: np.array(x, object),
        lambda x: [s.encode() for s in x],
        lambda x: np.array(x, "S"),
        lambda x: tf.constant(x),
        lambda x: tf.data.Dataset.from_tensor_slices(x),
        lambda x: tf.data.Dataset.from_tensor_slices(x).batch(2),
        lambda x: dict.fromkeys(x),
    ],
)
def test_every_form_gives_the_same(form):
    found = as_bytes("sentences", form(TEXTS))
    assert found == WANTED
    assert {type(x) for x in found} == {bytes}


def test_nothing_is_a_list_of_nothing():
    assert as_bytes("sentences", []) == []
    empty = tf.data.Dataset.from_tensor_slices(TEXTS).take(0)
    assert as_bytes("sentences", empty) == []


def test_half_a_surrogate_pair_stops_nobody():
    assert as_bytes("sentences", ["a\udcffb", "ü"]) == [b"a?b", "ü".encode()]


@pytest.mark.parametrize("wrong", ["eins", b"eins", 5, None])
def test_one_string_is_refused(wrong):
    with pytest.raises(ValueError, match="Put a single one into a list"):
        as_bytes("sentences", wrong)


@pytest.mark.parametrize(
    "wrong", [["a", 5], ["a", None], ["a", ["b"]], ["a", np.array(["b"])]]
)
def test_what_is_no_string_is_named(wrong):
    with pytest.raises(ValueError, match=r"prefixes\[1\]="):
        as_bytes("prefixes", wrong)


def test_a_dataset_without_end_is_refused():
    endless = tf.data.Dataset.from_tensor_slices(TEXTS).repeat()
    with pytest.raises(ValueError, match="which repeats forever"):
        as_bytes("sentences", endless)
    assert as_bytes("sentences", endless.take(4)) == [*WANTED, b"eins"]
