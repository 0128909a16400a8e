"""Large matrices by blocks of rows, in less memory and in the cache."""

import contextlib
import contextvars
import itertools
from collections.abc import Callable

from keras import ops

from keras_attention.ops.fast_paths import fast_path

BLOCKS = 16
WIDE = 1024  # columns from which blocks are worth their overhead
_fused = contextvars.ContextVar("fused", default=False)


@contextlib.contextmanager
def fused(by_xla: bool):
    """Set whether XLA compiles what a `with` block computes.

    XLA fuses operations, so blocks save no memory there, and take long to
    compile. A function cannot find out by itself what compiles it.
    """
    token = _fused.set(by_xla)
    try:
        yield
    finally:
        _fused.reset(token)


def count_blocks(x) -> int:
    """Return the number of blocks in which to compute a matrix `(N, V)`.

    It is 1 if `V` is small or not known, and where XLA compiles.
    """
    columns = x.shape[1]
    whole = _fused.get() or fast_path("replace_rows") is None
    return 1 if whole or columns is None or columns < WIDE else BLOCKS


def block_bounds(rows, count: int) -> list:
    """Divide rows into blocks of about the same size.

    Args:
        rows: Their number, which a graph may not know.
        count: The number of blocks. Some are empty if there are fewer rows.

    Returns:
        Pairs of the first row of a block, and the one after its last.
    """
    cuts = [rows * i // count for i in range(count + 1)]
    return list(itertools.pairwise(cuts))


def map_rows(function: Callable, x, count: int) -> list:
    """Compute tensors `(N, ...)` from a matrix, block by block.

    Args:
        function: Function from rows `(n, V)` to a list of tensors `(n, ...)`,
            which should be much smaller.
        x: `(N, V)`.
        count: The number of blocks.

    Returns:
        A list of tensors `(N, ...)`.
    """
    if count == 1:
        return function(x)
    after, found = fast_path("after"), []
    for begin, end in block_bounds(ops.shape(x)[0], count):
        with after(found[-1:]) if after else contextlib.nullcontext():
            found.append(function(x[begin:end]))
    return [ops.concatenate(parts) for parts in zip(*found, strict=True)]


def replace_rows(function: Callable, tensors: list, count: int):
    """Replace the rows of a matrix by a function of them, block by block.

    Args:
        function: Function from rows of all tensors to those that replace rows
            of the first, of the same shape and dtype.
        tensors: The matrix `(N, V)`, and others `(N, ...)`. Where nothing
            else reads the matrix, a graph of TensorFlow writes to its memory.
        count: The number of blocks.

    Returns:
        `(N, V)`.
    """
    if count == 1:
        return function(*tensors)
    return fast_path("replace_rows")(function, tensors, count, block_bounds)
