"""checks: right values pass, wrong ones are named in the error."""

import math
import re
from functools import partial

import keras
import numpy as np
import pytest

from keras_attention.checks import check_choice
from keras_attention.checks import check_finite
from keras_attention.checks import check_integer
from keras_attention.checks import check_list
from keras_attention.checks import check_loadable
from keras_attention.checks import check_number
from keras_attention.checks import check_object
from keras_attention.checks import check_rate
from keras_attention.checks import shapes_agree

POSITIVE = partial(check_number, above=0)


@pytest.mark.parametrize(
    ("check", "kind", "values"),
    [
        (check_integer, int, [1, 64, np.int64(2), np.uint8(3)]),
        (POSITIVE, float, [1, 0.1, 1e9, np.float32(2), np.int64(3)]),
    ],
)
def test_a_right_number_comes_back_as_python(check, kind, values):
    for value in values:
        found = check("units", value)
        assert found == value
        assert type(found) is kind


@pytest.mark.parametrize(
    ("check", "words", "values"),
    [
        (
            check_integer,
            "must be a positive integer",
            [0, -1, 8.0, "64", None, True, np.float32(2), float("nan"), [1]],
        ),
        (
            POSITIVE,
            "must be a positive number",
            [0, -1, "1", None, True, float("nan"), float("inf"), 10**400],
        ),
        (
            check_rate,
            "must be in [0, 1)",
            [-0.1, 1, 1.0, 50, float("nan"), "0.5", None, True, -(10**400)],
        ),
    ],
)
def test_a_wrong_number_is_named(check, words, values):
    for value in values:
        message = f"`units` {words}. Received: units={value!r}"
        with pytest.raises(ValueError, match=re.escape(message)):
            check("units", value)


@pytest.mark.parametrize(
    ("value", "said"),
    [(10**9, "10{9}"), (10**12, "10{12}"), (10**400, "10\\*\\*400")],
    ids=["many", "large", "huge"],
)
def test_a_size_is_one_that_a_tensor_may_have(value, said):
    assert check_integer("size", 2**24) == 2**24
    with pytest.raises(ValueError, match=f"at most 16777216.*size={said}"):
        check_integer("size", value)
    assert check_integer("seed", value, 0, math.inf) == value


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({}, "a finite number. "),
        ({"least": 0}, "a non-negative number. "),
        ({"above": 0, "most": 1}, "a positive number, at most 1. "),
        ({"least": 2, "below": 3}, "a finite number, at least 2 and below 3."),
    ],
)
def test_number_names_its_bounds(bounds, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        check_number("x", "y", **bounds)


def test_what_is_in_no_list_is_named():
    assert check_list("weights", (1, 2), "numbers") == [1, 2]
    for value in (None, 3, np.array(2)):
        with pytest.raises(ValueError, match="`weights` must be a list of num"):
            check_list("weights", value, "numbers")


def test_a_class_is_no_object():
    with pytest.raises(ValueError, match=r"the class dict.*Call it"):
        check_object("cell", dict, dict, "Call it.")
    check_object("cell", {}, dict, "Call it.")


@pytest.mark.parametrize("choices", [("sum", "mean"), {"sum": 1, "mean": 2}])
@pytest.mark.parametrize("value", ["max", "", None, 3])
def test_no_such_choice(value, choices):
    message = rf"`mode`.*\('sum', 'mean'\)\. Received: mode={value!r}"
    with pytest.raises(ValueError, match=message):
        check_choice("mode", value, choices)


@keras.saving.register_keras_serializable("test_checks")
class Ends:
    def __call__(self, x):
        return x

    def get_config(self):
        return {}


def test_loadable():
    @keras.saving.register_keras_serializable("test_checks")
    def registered(x):
        return x

    kinds = (
        keras.activations.tanh,
        None,
        registered,
        Ends(),
        keras.layers.ReLU(),
    )
    for value in kinds:
        check_loadable("activation", value)


def test_not_loadable():
    def local(x):
        return x

    part = partial(keras.activations.relu, threshold=1.0)
    for value in (lambda x: x, local, part, Ends().__call__):
        message = "`activation` must.*register_keras_serializable"
        with pytest.raises(ValueError, match=message):
            check_loadable("activation", value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_are_finite(value, dtype):
    weights = {
        "good": keras.Variable([1.0, 2.0], dtype=dtype),
        "seed": np.array([3], "uint32"),
    }
    check_finite("Who", weights.items())
    weights["bad"] = keras.Variable([1.0, value], dtype=dtype)
    with pytest.raises(ValueError, match=r"Who needs.*Received: bad,"):
        check_finite("Who", weights.items())


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ((2, 3), (2, 3), True),
        ((2, None), (None, 3), True),
        ((2, 3), (2, 4), False),
        ((2, None), (2,), False),
        ((), (), True),
    ],
)
def test_shapes_agree_as_far_as_they_are_known(one, other, agree):
    assert shapes_agree(one, other) == shapes_agree(other, one) == agree
