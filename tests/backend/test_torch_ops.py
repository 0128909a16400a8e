"""What stands for `keras.ops` is equal to it, on each backend."""

import keras
import numpy as np
import pytest

from keras_attention.backend import ops

X = np.random.default_rng(3).normal(size=(2, 3, 4))
MASK, WHOLE = X > 0, np.arange(24, dtype="int32").reshape(2, 3, 4)
CALLS = {  # a few of each function that a backend has in a form of its own
    "add": [(X, X), (X, 2.0), (WHOLE, WHOLE), (1, WHOLE), (MASK, 1)],
    "any": [(MASK,), (MASK, -1), (WHOLE,)],
    "cast": [(X, "float64"), (X, "int32"), (MASK, "float16"), (X, "bool")],
    "concatenate": [([X, X],), ([WHOLE, X], -1)],
    "equal": [(WHOLE, 3), (X, X), (3, WHOLE)],
    "exp": [(X,), (WHOLE,)],
    "expand_dims": [(X, 1), (X, -1), (X, (0, 2))],
    "greater": [(X, 0), (X, -np.inf), (WHOLE, X)],
    "is_tensor": [(X,), (WHOLE,)],
    "log": [(X * X,), (WHOLE + 1,)],
    "log_softmax": [(X,), (X, 1)],
    "logical_and": [(MASK, MASK), (MASK, True)],
    "not_equal": [(WHOLE, 3), (X, X)],
    "reshape": [(X, (2, -1)), (X, -1), (X, [4, 6])],
    "shape": [(X,)],
    "sigmoid": [(X,)],
    "softmax": [(X,), (X, 1)],
    "split": [(X, 2, -1), (X, [1, 3], -1), (X, 3, 1), (X[:0], 2)],
    "squeeze": [(X[:1],), (X[:, :1], 1)],
    "stack": [([X, X],), ([X, X], -1)],
    "sum": [(X, -1), (X, 0, True), (X,), (MASK, -1), (WHOLE, (0, 1))],
    "swapaxes": [(X, 0, 1), (X, -1, -2)],
    "tanh": [(X,)],
    "top_k": [(X, 2)],
    "where": [
        (MASK, X, X),
        (MASK, X, 0.0),
        (MASK, 1, WHOLE),
        (MASK, 0, 1.0),
        (MASK, MASK, 1),
    ],
    "zeros_like": [(X,), (X, "int32"), (MASK,)],
}


@pytest.mark.parametrize("given", [lambda x: x, keras.ops.convert_to_tensor])
@pytest.mark.parametrize("name", CALLS)
def test_operations_are_those_of_keras(name, given):
    def arrays_of(x):
        return given(x) if isinstance(x, np.ndarray) else x

    own, wanted = (getattr(x, name) for x in (ops, keras.ops))
    for call in CALLS[name]:
        for dtype in ("float32", "float64"):
            arguments = keras.tree.map_structure(
                lambda x, to=dtype: x.astype(to) if x is X else x, call
            )
            arguments = keras.tree.map_structure(arrays_of, arguments)
            pairs = (
                keras.tree.flatten(function(*arguments))
                for function in (own, wanted)
            )
            for x, y in zip(*pairs, strict=True):
                assert type(x) is type(y)
                assert getattr(x, "dtype", None) == getattr(y, "dtype", None)
                x, y = map(keras.ops.convert_to_numpy, (x, y))
                np.testing.assert_array_equal(x, y)


def test_operations_of_keras_have_a_faster_form_on_torch():
    assert (ops is keras.ops) == (keras.backend.backend() != "torch")
    if ops is not keras.ops:
        own = {
            x for x, y in vars(ops).items() if y is not getattr(keras.ops, x)
        }
        assert own == set(CALLS)
