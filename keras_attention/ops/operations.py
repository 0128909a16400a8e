"""Operations that a training loop can record and differentiate itself.

A step of a recurrent network consists of products with constants (weights, the
source's keys and values) and of cheap arithmetic between them. Each kind of
product is an `Operation`. Outside a training loop, an operation simply runs;
inside a training loop, a recorder intercepts it: see `ops/replay.py`.
"""

import contextlib
import contextvars
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

from keras.backend import standardize_dtype


class _Loop(NamedTuple):
    recorder: Any = None
    portable: bool = False  # whether it is traced for another runtime


OUTSIDE = _Loop()
_loop = contextvars.ContextVar("loop", default=OUTSIDE)


class Operation(NamedTuple):
    """A function of one operand and of constants, with its gradients.

    Attributes:
        run: Function from `(x, *constants)` to the result.
        vjp: Function from the result's cotangent `dy`, `x` and the constants
            to the cotangent of `x`. If `constants_vjp` is `None`, it returns a
            list: the cotangents of `x` and of each constant.
        constants_vjp: Function from the cotangents and operands of all steps,
            with time on axis 0, and the constants to the list of the
            constants' cotangents, `None` for those of no further use.
        prepare: Function from the constants to what `vjp` takes in their place,
            such as a transposed kernel, computed once for all steps. `None`
            if `vjp` takes the constants.
    """

    run: Callable
    vjp: Callable
    constants_vjp: Callable | None = None
    prepare: Callable | None = None


def perform(operation: Operation, x, *constants):
    """Run an operation, by the recorder if there is one.

    Args:
        operation: The operation.
        x: Its operand, which may change from step to step.
        *constants: Its other arguments: tensors or Keras variables.

    Returns:
        The result, as `operation.run` returns it.
    """
    recorder = _loop.get().recorder
    if recorder is None:
        return operation.run(x, *constants)
    return recorder.perform(operation, x, *constants)


def hoist(function: Callable, *constants):
    """Compute once per loop a value that is the same at all steps.

    Outside a loop with a recorder, the value is computed at every call.

    Args:
        function: Function from the constants to one tensor. It may close over
            numbers, strings, layers and functions, which distinguish it from
            other functions.
        *constants: Tensors or Keras variables that are the same at each step.

    Returns:
        The tensor.

    Raises:
        TypeError: In a loop, if `function` closes over another object.
    """
    recorder = _loop.get().recorder
    if recorder is None:
        return function(*constants)
    return recorder.hoist(function, *constants)


def dtype_of(constant) -> str:
    """Return the dtype that a constant has in a loop.

    That of a Keras variable depends on the autocast scope of a layer's call,
    in which the loop runs, but not its gradient.

    Args:
        constant: A tensor or a Keras variable.
    """
    recorder = _loop.get().recorder
    if recorder is not None:
        constant = recorder.value(constant)
    return standardize_dtype(constant.dtype)


def hoists(*constants) -> bool:
    """Return whether `hoist` computes once for many steps.

    Args:
        *constants: Tensors or Keras variables that its function takes.
    """
    recorder = _loop.get().recorder
    return recorder is not None and all(map(recorder.knows, constants))


def recording(recorder):
    """Send all operations of a `with` block to a recorder."""
    return _changed(recorder=recorder)


def portable_program():
    """Trace for another runtime in a `with` block, without gradients.

    Products are unchanged, because such a runtime stores kernels and multiplies
    in its own way. Shapes are computed so that LiteRT can plan all memory in
    advance, instead of in each step of a loop.
    """
    return _changed(portable=True)


def is_portable() -> bool:
    """Return whether a program for another runtime is traced."""
    return _loop.get().portable


@contextlib.contextmanager
def _changed(**fields):
    loop = _loop.get()._replace(**fields)
    token = _loop.set(loop)
    try:
        yield loop.recorder
    finally:
        _loop.reset(token)
