"""Target tokens: their weights, their cross-entropy and their shapes.

Logits are large matrices. They are computed by blocks of rows, which takes
less memory, and stays in the cache.
"""

import contextlib
import contextvars
import itertools
import math
from collections.abc import Callable

from keras_attention.arrays import check_dense
from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import check_shape
from keras_attention.ops.numerics import wide_dtype
from keras_attention.ops.numerics import widen
from keras_attention.ops.rows import reshaped
from keras_attention.ops.rows import take_rows

BLOCKS = 16
WIDE = 1024  # columns from which blocks are worth their overhead
_fused = contextvars.ContextVar("fused", default=False)


def token_weights(y_true, sample_weight=None, dtype="float32"):
    """Compute the weight of every target token: 0 for padding, id 0.

    Args:
        y_true: Integer ids `(B, T)`.
        sample_weight: `(B,)`, `(B, 1)` or `(B, T)`, or `None` for 1.
        dtype: Dtype of the result. Defaults to `"float32"`.

    Returns:
        Weights `(B, T)`, 0 where `y_true` is 0.

    Raises:
        ValueError: If the shapes, as far as they are known, do not fit.
    """
    y_true = ops.convert_to_tensor(y_true)
    check_dense("Token weights need numbers", "sample_weight", sample_weight)
    real = ops.cast(ops.not_equal(y_true, 0), dtype)
    if sample_weight is None:
        return real
    weight = ops.cast(ops.convert_to_tensor(sample_weight), dtype)
    if len(weight.shape) == 1:
        weight = ops.expand_dims(weight, 1)
    whole = weight.shape[-1:] == (1,)  # one weight for a whole sentence
    wanted = (y_true.shape[0], 1) if whole else tuple(y_true.shape)
    needs = "`sample_weight` needs one number per sentence or per token"
    way_out = "Pass numbers of shape (B,) or (B, T), to match `y_true`."
    check_shape(needs, "sample_weight", weight.shape, wanted, way_out)
    return real * weight


def token_crossentropy(y_true, logits, label_smoothing: float = 0.0):
    """Compute the cross-entropy of each target token.

    Formula:

        loss = logsumexp(z) - (1 - s) z[y] - s mean(z)

    This is Keras' cross-entropy with `s / V` for every class, computed without
    one-hot targets `(B, T, V)`, and with a gradient that needs no copy of the
    logits. An id outside the `V` classes gives NaN, so
    that it does not pass unnoticed.

    On JAX there is no forward-mode derivative of what is compiled: it raises an
    error.

    Args:
        y_true: Integer ids `(B, T)`.
        logits: `(B, T, V)`. Float16 is cast to float32, by blocks of rows.
        label_smoothing: The number `s`, from 0 to less than 1. Defaults to
            `0.0`.

    Returns:
        Losses `(B, T)` in float32 or wider, those of padding included.

    Raises:
        ValueError: If the shapes, as far as they are known, do not fit.
    """
    y_true, logits = as_targets(y_true, logits)
    y_true = ops.cast(y_true, "int32")
    check_tokens(y_true, logits)
    classes = ops.shape(logits)[-1]
    outside = ops.logical_or(y_true < 0, y_true >= classes)
    ids = ops.reshape(ops.where(outside, 0, y_true), (-1,))
    rows = ops.reshape(logits, (-1, classes))

    def losses_and_gradient(logits):
        rows = _Rows(ids, logits, label_smoothing)
        return rows.losses(), rows.gradient

    try:
        losses = backend.custom_gradient(losses_and_gradient)(rows)
    except backend.TransformationError:
        losses = losses_and_gradient(rows)[0]
    losses = ops.reshape(losses, ops.shape(y_true))
    return ops.where(outside, math.nan, losses)


class _Rows:
    """Rows of logits, and what losses and gradient share: two numbers each."""

    def __init__(self, ids, logits, smoothing):
        self.ids, self.logits, self.smoothing = ids, logits, smoothing
        self.dtype = wide_dtype(logits.dtype)
        classes = ops.cast(ops.shape(logits)[-1], self.dtype)
        self.spread = smoothing / classes
        self.blocks = count_blocks(logits)

    def losses(self):
        self.sums, *totals = map_rows(self._sums, self.logits, self.blocks)
        self.right = ops.cast(pick(self.logits, self.ids), self.dtype)
        losses = self.sums - (1 - self.smoothing) * self.right
        return losses - self.spread * totals[0] if totals else losses

    def _sums(self, logits):
        logits = widen(logits)
        found = [ops.logsumexp(logits, axis=-1)]
        if self.smoothing:
            # Not `ops.mean`: on JAX and torch it computes float64 in float32.
            found.append(ops.sum(logits, axis=-1))
        return found

    def gradient(self, of_losses):
        """Compute `softmax(z) - s / V`, and subtract `1 - s` at the ids."""
        right = ops.exp(self.right - self.sums) - self.spread
        right = (right - (1 - self.smoothing)) * of_losses

        def vjp(logits, ids, sums, right, of_losses):
            found = ops.exp(widen(logits) - sums[:, None])
            if self.smoothing:
                found = found - self.spread
            rows = ops.arange(ops.shape(ids)[0], dtype="int32")
            found = ops.scatter_update(
                found * of_losses[:, None],
                ops.stack([rows, ids], axis=1),
                right,
            )
            return ops.cast(found, logits.dtype)

        tensors = [self.logits, self.ids, self.sums, right, of_losses]
        return replace_rows(vjp, tensors, self.blocks)


def weighted_sum(weights, values):
    """Compute a weighted sum; values of weight 0 may be infinite or NaN."""
    return ops.sum(ops.where(weights == 0, 0.0, weights * values))


def pick(x, ids):
    """Select one entry of the last axis at every index of the others.

    It indexes one flat axis, which on TensorFlow takes a third of the time of
    `take_along_axis`. The indices are int32: `x` has at most 2**31 entries.

    Args:
        x: `(..., V)`.
        ids: Int32 from 0 to `V - 1`, `(...)`.

    Returns:
        `x[..., id]`, with the shape of `ids`.
    """
    classes, flat = ops.shape(x)[-1], ops.reshape(ids, (-1,))
    rows = ops.arange(ops.shape(flat)[0], dtype="int32")
    entries = take_rows(ops.reshape(x, (-1,)), rows * classes + flat)
    return reshaped(entries, ops.shape(ids))


def as_targets(y_true, y_pred) -> tuple:
    """Convert targets, and what was predicted, to tensors.

    Args:
        y_true: Targets.
        y_pred: What a model returned for them.

    Raises:
        ValueError: If their rows have several lengths.
    """
    for name, x in (("y_true", y_true), ("y_pred", y_pred)):
        check_dense("Losses and metrics need tensors", name, x)
    return ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)


def check_tokens(y_true, logits):
    """Check that the shapes of targets and logits fit, as far as known.

    Args:
        y_true: Ids, which must be `(B, T)`.
        logits: Logits, which must be `(B, T, V)`.

    Raises:
        ValueError: If the shapes do not match.
    """
    needs = "Targets must have the shape (B, T), and logits (B, T, V)"
    way_out = "Pass ids as targets, not one-hot vectors."
    check_shape(needs, "y_pred", logits.shape, ("B", "T", "V"), way_out)
    check_shape(needs, "y_true", y_true.shape, logits.shape[:2], way_out)


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
    whole = _fused.get() or not backend.replaces_rows
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
    found = []
    for begin, end in block_bounds(ops.shape(x)[0], count):
        with backend.after(found[-1:]):
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
    return backend.replace_rows(function, tensors, count, block_bounds)
