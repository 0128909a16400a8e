"""A loop over any structure, and how its buffers are written."""

from collections.abc import Callable

from keras import ops
from keras import tree


def loop_while(unfinished: Callable, body: Callable, carry, steps: int):
    """Apply `body` to a structure until it is finished, in one graph loop.

    A loop in a graph carries a list of tensors. Therefore only the tensors of
    the structure are carried; the structure itself, including each `None` in
    it, is rebuilt around them for `unfinished` and `body`.

    Args:
        unfinished: A function from the structure to a scalar boolean tensor.
        body: A function from the structure to the next one, with the same
            shapes and dtypes, and `None` in the same places.
        carry: The initial structure.
        steps: Maximum number of runs of `body`.

    Returns:
        The final structure.

    Raises:
        ValueError: If `body` returns more or fewer tensors than it took.
    """
    leaves = tree.flatten(carry)

    def pack(tensors):
        left = iter(tensors)
        every = [None if x is None else next(left) for x in leaves]
        return tree.pack_sequence_as(carry, every)

    def unpack(structure, count):
        tensors = [x for x in tree.flatten(structure) if x is not None]
        if len(tensors) != count:
            raise ValueError(
                "`step` must always return the same structure. Received: "
                f"{len(tensors)} tensors after {count} tensors in an earlier "
                "call. A result must be `None` either always or never."
            )
        return tuple(ops.convert_to_tensor(x) for x in tensors)

    count = sum(x is not None for x in leaves)
    tensors = ops.while_loop(
        lambda *tensors: unfinished(pack(tensors)),
        lambda *tensors: unpack(body(pack(tensors)), count),
        unpack(carry, count),
        maximum_iterations=steps,
    )
    return pack(tensors)


def write(buffer, position, value, length: int):
    """Write one step into a buffer with time on axis 2.

    Every position chooses between the buffer and the value, because all export
    formats support this. It rewrites the whole buffer, which costs little
    compared with a step over the vocabulary.

    Args:
        buffer: `(B, K, T, ...)`, or `None` for one of zeros.
        position: Where to write on axis 2, a scalar int32 tensor.
        value: `(B, K, ...)`.
        length: The size `T` of the buffer.

    Returns:
        The buffer with the step in it, `(B, K, T, ...)`.
    """
    value = ops.expand_dims(value, 2)  # (B, K, 1, ...)
    buffer = ops.zeros_like(value) if buffer is None else buffer
    positions = ops.arange(length, dtype="int32")
    rest = [1] * (len(value.shape) - 3)
    here = ops.reshape(ops.equal(positions, position), (length, *rest))
    return ops.where(here, value, buffer)


def choose(mask, x, y):
    """Choose between log probabilities, which may be `-inf`.

    Args:
        mask: Boolean tensor that broadcasts to the others.
        x: Float tensor, used where the mask is `True`.
        y: Float tensor of the same dtype, used elsewhere.

    Returns:
        A tensor of the shape that all three broadcast to.
    """
    return ops.where(mask, x, y)
