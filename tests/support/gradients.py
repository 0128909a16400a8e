"""Gradients on every backend: NumPy in, NumPy out."""

import importlib

import keras
import numpy as np
from keras import ops

BACKEND = importlib.import_module(keras.backend.backend())


def to_numpy(x):
    """Convert a tensor; NumPy has no bfloat16, and float16 is too narrow."""
    narrow = keras.backend.standardize_dtype(x.dtype) in (
        "float16",
        "bfloat16",
    )
    return ops.convert_to_numpy(ops.cast(x, "float32") if narrow else x)


def to_tensor(array):
    """Convert an array, and keep its dtype: float64 stays float64."""
    return ops.convert_to_tensor(array, dtype=str(array.dtype))


def gradients(function, arrays):
    """Differentiate a scalar function of tensors.

    Args:
        function: From tensors, one an array, to a scalar tensor.
        arrays: List of NumPy arrays.

    Returns:
        One array each, zeros where the function does not depend on it.
    """
    ways = {"tensorflow": _by_tape, "jax": _by_jax, "torch": _by_autograd}
    found = ways[keras.backend.backend()](
        function, [to_tensor(array) for array in arrays]
    )
    return [
        np.zeros_like(array) if g is None else to_numpy(g)
        for g, array in zip(found, arrays, strict=True)
    ]


def _by_tape(function, tensors):
    with BACKEND.GradientTape() as tape:
        for tensor in tensors:
            tape.watch(tensor)
        result = function(*tensors)
    return tape.gradient(result, tensors, unconnected_gradients="zero")


def _by_jax(function, tensors):
    return BACKEND.grad(function, tuple(range(len(tensors))))(*tensors)


def _by_autograd(function, tensors):
    tensors = [tensor.detach().requires_grad_() for tensor in tensors]
    result = function(*tensors)
    return BACKEND.autograd.grad(result, tensors, allow_unused=True)


def slopes(function, arrays, step=1e-5, seed=0):
    """Measure a function's slope along a random direction in each array.

    A direction moves all entries of one array at once, so that a wrong entry
    of the gradient shows; the arrays must be float64.

    Returns:
        Pairs of the direction, shaped like the array, and the slope.
    """
    draw = np.random.default_rng(seed).normal
    found = []
    for n, array in enumerate(arrays):
        direction = draw(size=array.shape)
        direction /= np.linalg.norm(direction)

        def at(distance, n=n, direction=direction):
            moved = list(arrays)
            moved[n] = arrays[n] + distance * direction
            return float(to_numpy(function(*map(to_tensor, moved))))

        found.append((direction, (at(step) - at(-step)) / (2 * step)))
    return found


def check_gradients(function, arrays, tolerance=1e-7):
    """Assert that the gradient is the slope, for every array."""
    found = gradients(function, arrays)
    for g, (direction, slope) in zip(
        found, slopes(function, arrays), strict=True
    ):
        np.testing.assert_allclose(
            np.sum(g * direction), slope, rtol=tolerance, atol=tolerance
        )
