"""Operations whose gradients a loop may take its own way.

A step of a recurrent network is products with constants (weights, the source's
keys and values) and, between them, cheap arithmetic. Each kind of product is
an `Operation` here. By itself it runs as any other; while a loop is being
trained, `recorder` stands in its place: see `ops/replay.py`.
"""

import contextlib
import contextvars
from collections.abc import Callable
from typing import NamedTuple

_recorder = contextvars.ContextVar("recorder", default=None)


class Operation(NamedTuple):
    """A function of one operand and of constants, and its gradient in parts.

    Attributes:
        run: From `(x, *constants)` to the result.
        pull: From the result's cotangent `dy`, `x` and the constants to the
            cotangent of `x`; where `late` is `None`, to the list of that and
            those of the constants.
        late: From the cotangents and operands of all steps, with time on axis
            0, and the constants, to the list of the constants' cotangents.
        turn: From the constants to what `pull` takes instead of them, once
            for all steps; `None` if that is the constants.
    """

    run: Callable
    pull: Callable
    late: Callable | None = None
    turn: Callable | None = None


def perform(operation: Operation, x, *constants):
    """Run an operation, or let the recorder do it.

    Args:
        operation: What to do.
        x: Its operand, which may change from step to step.
        *constants: Its other arguments: tensors or Keras variables.
    """
    recorder = _recorder.get()
    if recorder is None:
        return operation.run(x, *constants)
    return recorder.perform(operation, x, *constants)


def hoist(function: Callable, *constants):
    """Compute what no step changes, once for a whole loop.

    By itself it computes it on the spot.

    Args:
        function: From the constants to one tensor.
        *constants: Tensors or Keras variables that are the same at each step.
    """
    recorder = _recorder.get()
    if recorder is None:
        return function(*constants)
    return recorder.hoist(function, *constants)


def hoists() -> bool:
    """Tell whether `hoist` computes once for many steps."""
    return _recorder.get() is not None


@contextlib.contextmanager
def recording(recorder):
    """Give all operations of a `with` block to a recorder."""
    token = _recorder.set(recorder)
    try:
        yield recorder
    finally:
        _recorder.reset(token)
