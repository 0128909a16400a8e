"""checks: right values pass, wrong ones are named in the error."""

import math
import re
from functools import partial

import numpy as np
import pytest

from keras_attention.checks import check_count
from keras_attention.checks import check_function
from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.checks import check_rate
from keras_attention.checks import check_shape
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


@pytest.mark.parametrize(
    ("shape", "wanted", "says"),
    [
        ((2, 3), (2, "T", "D"), r"`x` \(B, T, D\), here \(2, T, D\)\."),
        ((2, 3), (None, None, None), r"needs `x` \(B, T, D\)\. Received"),
        ((None, 4, 5), ("B", np.int64(3), None), r"here \(B, 3, any\)"),
    ],
)
def test_a_shape_that_does_not_fit_is_named(shape, wanted, says):
    given = "It needs `x` (B, T, D)", "x", shape
    with pytest.raises(ValueError, match=says) as error:
        check_shape(*given, wanted, "Give another.")
    assert f"Received: x.shape={shape}. Give another." in str(error.value)


def test_a_size_that_is_not_known_may_fit():
    check_shape("It needs `x`", "x", (None, 3), (2, "T"), "")


def test_as_many_are_needed_of_both():
    check_count("one of each", "x", [1, 2], "others", [3, 4])
    says = r"`x` needs one of each\. Received: 1 x for 2 others\. Pass"
    with pytest.raises(ValueError, match=says):
        check_count("one of each", "x", [1], "others", [3, 4])


@pytest.mark.parametrize("value", [None, "sum", int])
def test_a_class_is_no_function(value):
    assert check_function("f", abs, "a function", "") is abs
    with pytest.raises(ValueError, match=r"`f` must be a function\. Received"):
        check_function("f", value, "a function", "Try abs.")
