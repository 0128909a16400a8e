"""Gradients by arrays and weights, eager and compiled, on every backend."""

import importlib

import keras
import numpy as np
from gradients import to_numpy
from gradients import to_tensor

BACKEND = importlib.import_module(keras.backend.backend())


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
