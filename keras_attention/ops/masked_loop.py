"""The loop over time in which a masked step changes nothing."""

from collections.abc import Callable

from keras import ops

from keras_attention.ops.numerics import cast
from keras_attention.ops.replay import trainable_loop


def masked_loop(
    step: Callable,
    states,
    inputs,
    real,
    blank,
    steps,
    layer,
    constants=(),
    training: bool | None = None,
    reverse: bool = False,
    masked_outputs: Callable | None = None,
):
    """Run a step over time; a masked step keeps the states.

    Args:
        step: As in `trainable_loop`; the dtypes of its results do not matter.
        states: List of tensors `(B, ...)` before the first step.
        inputs: Structure of tensors with time on axis 0; `None` stays `None`.
        real: Boolean `(T, B)`, `True` at real steps, or `None` for all.
        blank: List of zeros, with the shape and dtype of each output: the
            outputs of a masked step.
        steps: Number of steps, an integer or a scalar tensor.
        layer: As in `trainable_loop`.
        constants: As in `trainable_loop`. Defaults to none.
        training: As in `trainable_loop`. Defaults to `None`.
        reverse: As in `loop_over_time`. Defaults to `False`.
        masked_outputs: Function from the states to other outputs of a masked
            step.
            Defaults to `None`, those of `blank`.

    Returns:
        The final states, and a list of outputs with time on axis 0.
    """

    def masked_step(layer, states, inputs, constants):
        inputs, real = inputs
        after, outputs = step(layer, states, inputs, constants)
        kept = blank if masked_outputs is None else masked_outputs(states)
        return freeze(real, after, states), freeze(real, outputs, kept)

    return trainable_loop(
        masked_step,
        states,
        [inputs, real],
        blank,
        steps,
        layer,
        constants,
        training,
        reverse,
    )


def freeze(mask, new, old):
    """Keep the old tensors of rows whose step is masked.

    Args:
        mask: Boolean `(B,)`, `True` where the step is real, or `None` if it
            is real in all rows.
        new: List of tensors `(B, ...)` after the step.
        old: List of tensors before the step, which broadcast to `new`.

    Returns:
        List of tensors `(B, ...)`, in the dtypes of the old ones.
    """

    def choose(x, y):
        x = cast(x, y.dtype)
        if mask is None:
            return x
        shape = (-1, *[1] * (len(x.shape) - 1))
        return ops.where(ops.reshape(mask, shape), x, y)

    return [choose(x, y) for x, y in zip(new, old, strict=True)]


def last_real(x, mask=None):
    """Return the last unmasked step of each row.

    Args:
        x: `(B, T, D)`, zero at masked steps.
        mask: Boolean `(B, T)`, `True` at real steps, or `None` for all.

    Returns:
        `(B, D)`, zeros in rows without a real step.
    """
    if mask is None:
        return x[:, -1]
    positions = ops.arange(ops.shape(x)[1], dtype="int32")
    last = ops.max(ops.where(mask, positions, 0), axis=1)
    last = ops.reshape(last, (-1, 1, 1))
    return ops.squeeze(ops.take_along_axis(x, last, axis=1), axis=1)
