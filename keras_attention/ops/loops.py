"""The plain loop over time, in a form that each backend can differentiate."""

import math
from collections.abc import Callable

from keras import tree

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.ops.operations import is_portable


def loop_over_time(
    step: Callable, carry, inputs, blank, length, reverse: bool = False
):
    """Run a step over time and stack its outputs.

    On TensorFlow, this is a `while` loop that writes into preallocated buffers:
    the only form that trains with and without XLA and works in every export. On
    JAX, it is a scan, because JAX cannot differentiate a `while` loop. On other
    backends, it is a Python loop.

    Args:
        step: Function from `(carry, inputs of one step)` to the next carry
            and a list of outputs `(B, ...)`.
        carry: List of tensors before the first step. Their shapes and dtypes
            stay the same at every step.
        inputs: Structure of tensors with time on axis 0; `None` stays `None`.
        blank: List of zeros, with the shape and dtype of each output.
        length: Number of steps, an integer or a scalar tensor.
        reverse: Whether to run from the last step to the first. Defaults to
            `False`.

    Returns:
        The final carry, and a list of outputs with time on axis 0.
    """
    if isinstance(length, int) and length == 0:
        blank = [ops.zeros((0, *ops.shape(x)), x.dtype) for x in blank]
        return list(carry), blank
    loops = {"scan": _scanned_loop, "python": _python_loop}
    loop = loops.get(backend.plain_loop, _buffered_loop)
    return loop(step, list(carry), inputs, list(blank), length, reverse)


def _at(inputs, t):
    return tree.map_structure(lambda x: None if x is None else x[t], inputs)


def _buffered_loop(step, carry, inputs, blank, length, reverse):
    counts = [_count_writes(x) for x in blank]

    def write(buffer, x, count, t):
        x, places = ops.expand_dims(x, 0), [[t]]
        if count is not None:
            x, places = x[:count], ops.broadcast_to(t, (count, 1))
        return ops.scatter_update(buffer, places, x)

    def body(t, carry, buffers):
        now = length - 1 - t if reverse else t
        carry, outputs = step(carry, _at(inputs, now))
        written = [
            write(*one, now)
            for one in zip(buffers, outputs, counts, strict=True)
        ]
        return t + 1, list(carry), written

    buffers = [ops.zeros((length, *ops.shape(x)), x.dtype) for x in blank]
    _, carry, outputs = ops.while_loop(
        lambda t, *_: t < length,
        body,
        (ops.zeros((), "int32"), carry, buffers),
        maximum_iterations=length,  # XLA needs it for the gradient
    )
    return carry, outputs


def _count_writes(x):
    """Return 1, or 0 for an empty tensor, which TensorFlow cannot write.

    Returns:
        `None` for 1 where that is known, as in a portable program.
    """
    if 0 in tuple(x.shape):
        return 0
    unknown = [n for n in ops.shape(x) if not isinstance(n, int)]
    if not unknown or is_portable():
        return None
    return math.prod(ops.minimum(n, 1) for n in unknown)


def _scanned_loop(step, carry, inputs, _, length, reverse):
    def body(carry, inputs):
        carry, outputs = step(carry, inputs)
        return list(carry), list(outputs)

    # JAX cannot compare a symbolic length with that of the inputs.
    known = any(x is not None for x in tree.flatten(inputs))
    length = None if known else length
    return ops.scan(body, carry, inputs, length=length, reverse=reverse)


def _steps_of(inputs, length):
    """List the inputs of each step, in the same structure."""
    if inputs is None:
        return [None] * length
    if type(inputs) in (list, tuple) and inputs:
        every = zip(*[_steps_of(x, length) for x in inputs], strict=True)
        return [type(inputs)(now) for now in every]
    if tree.is_nested(inputs):
        apart = [_steps_of(x, length) for x in tree.flatten(inputs)]
        now = [[x[t] for x in apart] for t in range(length)]
        return [tree.pack_sequence_as(inputs, x) for x in now]
    # Not `x[t]`: the gradient of each is as large as `x`.
    return ops.unstack(inputs, length)


def _python_loop(step, carry, inputs, _, length, reverse):
    apart, every = _steps_of(inputs, length), []
    for t in reversed(range(length)) if reverse else range(length):
        carry, outputs = step(carry, apart[t])
        every.append(outputs)
    every = every[::-1] if reverse else every
    return carry, [ops.stack(x, axis=0) for x in zip(*every, strict=True)]
