"""The plain loop over time, in the form that each backend can train."""

import keras
from keras import ops
from keras import tree


def loop_over_time(step, carry, inputs, blank, length, reverse=False):
    """Run a step over time, and stack what it gives.

    TensorFlow writes into preallocated buffers, the one form that trains with
    and without XLA and survives every export; JAX scans, because it cannot
    differentiate a `while` loop; elsewhere it is a Python loop.

    Args:
        step: A function from `(carry, inputs of one step)` to the next carry
            and a list of outputs `(B, ...)`.
        carry: List of tensors, whose shapes and dtypes stay the same.
        inputs: Structure of tensors with time on axis 0; `None` stays `None`.
        blank: List of zeros, with the shape and dtype of each output.
        length: How many steps, an integer or a scalar tensor.
        reverse: Whether to begin with the last step. Defaults to `False`.

    Returns:
        The last carry, and a list of outputs with time on axis 0.
    """
    loops = {"tensorflow": _buffered_loop, "jax": _scanned_loop}
    loop = loops.get(keras.backend.backend(), _python_loop)
    return loop(step, list(carry), inputs, list(blank), length, reverse)


def _at(inputs, t):
    return tree.map_structure(lambda x: None if x is None else x[t], inputs)


def _buffered_loop(step, carry, inputs, blank, length, reverse):
    def write(buffer, t, x):
        return ops.scatter_update(buffer, [[t]], ops.expand_dims(x, 0))

    def body(t, carry, buffers):
        now = length - 1 - t if reverse else t
        carry, outputs = step(carry, _at(inputs, now))
        written = [
            write(b, now, x) for b, x in zip(buffers, outputs, strict=True)
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


def _scanned_loop(step, carry, inputs, _, length, reverse):
    def body(carry, inputs):
        carry, outputs = step(carry, inputs)
        return list(carry), list(outputs)

    # A symbolic length is what the inputs have: JAX cannot compare two.
    known = any(x is not None for x in tree.flatten(inputs))
    length = None if known else length
    return ops.scan(body, carry, inputs, length=length, reverse=reverse)


def _python_loop(step, carry, inputs, blank, length, reverse):
    every = []
    for t in reversed(range(length)) if reverse else range(length):
        carry, outputs = step(carry, _at(inputs, t))
        every.append(outputs)
    every = every[::-1] if reverse else every
    if not every:
        return carry, [ops.zeros((0, *x.shape), x.dtype) for x in blank]
    return carry, [ops.stack(x, axis=0) for x in zip(*every, strict=True)]


def freeze(mask, new, old):
    """Take a step's result where the step is real, and what was elsewhere.

    Args:
        mask: Boolean `(B,)`, or `None` where every step is real.
        new: List of tensors `(B, ...)`.
        old: List of tensors that broadcast to those.
    """
    if mask is None:
        return new

    def choose(x, y):
        shape = (-1, *[1] * (len(x.shape) - 1))
        return ops.where(ops.reshape(mask, shape), x, y)

    return [choose(x, y) for x, y in zip(new, old, strict=True)]


def last_real(x, mask=None):
    """Take the last unmasked step of `(B, T, ...)`: `(B, ...)`.

    Args:
        x: `(B, T, D)`, zero at masked steps.
        mask: Boolean `(B, T)`, or `None`.
    """
    if mask is None:
        return x[:, -1]
    positions = ops.arange(ops.shape(x)[1], dtype="int32")
    last = ops.max(ops.where(mask, positions, 0), axis=1)
    last = ops.reshape(last, (-1, 1, 1))
    return ops.squeeze(ops.take_along_axis(x, last, axis=1), axis=1)
