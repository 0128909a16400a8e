"""Gradients on every backend, eager and compiled: NumPy in, NumPy out."""

import importlib

import keras
import numpy as np
from keras import ops

BACKEND = importlib.import_module(keras.backend.backend())
WAYS = {  # to compile what is differentiated
    "tensorflow": [None, "graph", "xla"],
    "jax": ["xla"],
    "torch": [None],
}[keras.backend.backend()]


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


def apply(function, *arrays, dtype=None):
    """Run a function of tensors: NumPy in, NumPy out."""
    tensors = [to_tensor(x) for x in arrays]
    if dtype:
        tensors = [keras.ops.cast(x, dtype) for x in tensors]
    return to_numpy(function(*tensors))


def gradients(function, arrays):
    """Differentiate a scalar function of tensors, one for each array.

    Returns:
        One array each, zeros where the function does not depend on it.
    """
    return differentiate(function, arrays)[1]


def differentiate(function, arrays, variables=(), compiled=None):
    """Differentiate a scalar function of tensors, and of weights it reads.

    Args:
        function: From as many tensors as there are arrays to a scalar.
        arrays: List of NumPy arrays.
        variables: Keras variables that `function` reads.
        compiled: `None` for eager, `"graph"` as the backend compiles by
            itself, or `"xla"`.

    Returns:
        The value, and the gradients as NumPy arrays, those of arrays first.
    """
    ways = {"tensorflow": _by_tape, "jax": _by_jax, "torch": _by_autograd}
    value, found = ways[keras.backend.backend()](
        function, [to_tensor(x) for x in arrays], list(variables), compiled
    )
    return float(value), [
        np.zeros(x.shape) if g is None else to_numpy(g)
        for g, x in zip(found, [*arrays, *variables], strict=True)
    ]


def _by_tape(function, tensors, variables, compiled):
    def run(*tensors):
        watched = [*tensors, *(v.value for v in variables)]
        with BACKEND.GradientTape() as tape:
            tape.watch(list(tensors))
            value = function(*tensors)
        return value, tape.gradient(
            value, watched, unconnected_gradients="zero"
        )

    if compiled:
        run = BACKEND.function(
            run, autograph=False, jit_compile=compiled == "xla"
        )
    return run(*tensors)


def _by_jax(function, tensors, variables, compiled):
    def run(tensors, values):
        mapping = list(zip(variables, values, strict=True))
        with keras.StatelessScope(state_mapping=mapping):
            return function(*tensors)

    both = BACKEND.value_and_grad(run, argnums=(0, 1))
    both = BACKEND.jit(both) if compiled else both
    value, found = both(tensors, [v.value for v in variables])
    return value, [*found[0], *found[1]]


def _by_autograd(function, tensors, variables, compiled):
    del compiled  # Keras runs torch eagerly
    tensors = [x.detach().requires_grad_() for x in tensors]
    watched = [*tensors, *(v.value for v in variables)]
    value = function(*tensors)
    return value.detach(), BACKEND.autograd.grad(
        value, watched, allow_unused=True
    )


def derivative(function, x):
    """Differentiate a scalar function of one tensor, to a tensor."""
    if keras.backend.backend() == "jax":
        return BACKEND.grad(function)(x)
    if keras.backend.backend() == "torch":
        x = x if x.requires_grad else x.detach().requires_grad_()
        return BACKEND.autograd.grad(function(x), x, create_graph=True)[0]
    with BACKEND.GradientTape() as tape:
        tape.watch(x)
        value = function(x)
    return tape.gradient(value, x)


def check_gradients(function, arrays, step=1e-5, tolerance=1e-7):
    """Assert that the gradient is the slope along a random direction.

    The direction moves all entries of all arrays at once, so that a wrong
    entry of the gradient of any of them shows; the arrays must be float64.
    """
    draw = np.random.default_rng(0).normal
    directions = [draw(size=x.shape) for x in arrays]
    directions = [x / np.linalg.norm(x) for x in directions]

    def at(distance):
        moved = [
            x + distance * y for x, y in zip(arrays, directions, strict=True)
        ]
        return float(to_numpy(function(*map(to_tensor, moved))))

    found = zip(gradients(function, arrays), directions, strict=True)
    np.testing.assert_allclose(
        sum(np.sum(x * y) for x, y in found),
        (at(step) - at(-step)) / (2 * step),
        rtol=tolerance / 10,  # of the sum over all arrays
        atol=tolerance,
    )


def kept_by_torch(function) -> tuple:
    """Call a function; return its result, and the shapes autograd keeps."""
    shapes = []

    def keep(x):
        shapes.append(tuple(x.shape))
        return x

    with BACKEND.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        return function(), shapes
