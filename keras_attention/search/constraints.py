"""Constraints on the next token: forbidden and forced tokens."""

import math
import operator

import keras
import numpy as np

from keras_attention.arrays import check_dense
from keras_attention.backend import ops
from keras_attention.checks import check_shape
from keras_attention.ops.tokens import pick


def ban(log_probs, ids):
    """Set the log probability of ids to `-inf`.

    Args:
        log_probs: `(B, K, V)`.
        ids: `(N,)` int32, or a list. Ids outside of 0 to `V - 1` are ignored.

    Returns:
        `(B, K, V)`.
    """
    size = log_probs.shape[-1]
    if isinstance(size, int) and isinstance(ids, list | tuple):
        hits = np.isin(np.arange(size), ids)  # no operations in each step
    else:
        ids = ops.convert_to_tensor(ids, "int32")
        classes = ops.arange(ops.shape(log_probs)[-1], dtype="int32")
        hits = ops.any(ops.equal(classes[:, None], ids), axis=-1)  # (V,)
    return ops.where(hits, -math.inf, log_probs)


def forbid(search, log_probs, tokens, position):
    """Set the log probability of forbidden tokens to `-inf`.

    The end token before `min_length`, the tokens `forbidden_ids`, and tokens
    that would repeat an n-gram are forbidden.

    Args:
        search: The `AbstractSearch` whose options apply.
        log_probs: `(B, K, V)`.
        tokens: The hypotheses so far, `(B, K, T)` int32, or `None` at the
            start.
        position: Scalar int32, the number of tokens so far.

    Returns:
        `(B, K, V)`.
    """
    if search.forbidden_ids or search.min_length > 1:
        end = ops.where(position + 1 < search.min_length, search.end_id, -1)
        ids = ops.convert_to_tensor(search.forbidden_ids, "int32")
        end = ops.cast(ops.reshape(end, (1,)), "int32")
        log_probs = ban(log_probs, ops.concatenate([ids, end]))
    size = search.no_repeat_ngram_size
    # A size that leaves room for one n-gram only cannot see it twice.
    if tokens is None or not 0 < size < tokens.shape[2]:
        return log_probs
    return _forbid_repeats(log_probs, tokens, position, size)


def _forbid_repeats(log_probs, tokens, position, size):
    """Forbid tokens that have followed the last `size - 1` tokens before."""
    shape = ops.shape(log_probs)
    rows, classes = shape[0] * shape[1], shape[2]
    windows = tokens.shape[2] - size + 1  # how many n-grams a buffer holds
    places = ops.arange(windows, dtype="int32")
    again = ops.less(places + size - 1, position)  # that are written already
    for i in range(size - 1):
        last = ops.take(tokens, ops.maximum(position - size + 1 + i, 0), axis=2)
        same = ops.equal(tokens[:, :, i : i + windows], last[..., None])
        again = ops.logical_and(again, same)  # (B, K, windows)
    # What does not repeat is written into a column of its own, cut off again.
    ends = ops.where(again, tokens[:, :, size - 1 :], classes)
    ends = ops.reshape(ends, (rows, windows))
    ends = ends + (classes + 1) * ops.arange(rows, dtype="int32")[:, None]
    ends = ops.reshape(ends, (rows * windows, 1))
    padded = ops.concatenate([log_probs, log_probs[..., :1]], axis=-1)
    flat = ops.reshape(padded, (rows * (classes + 1),))
    never = ops.full((rows * windows,), -math.inf, log_probs.dtype)
    flat = ops.scatter_update(flat, ends, never)
    return ops.reshape(flat, ops.shape(padded))[..., :-1]


def force(prefix, position, log_probs, ids, gains) -> tuple:
    """Replace the candidates with the token that the prefix forces, if any.

    Args:
        prefix: `(B, P)` int32, 0 where nothing is forced, or `None`.
        position: Scalar int32, the number of tokens so far.
        log_probs: Log probabilities of the model, `(B, K, V)`.
        ids: The candidates of each hypothesis, `(B, K, C)` int32.
        gains: The log probability of each, `(B, K, C)`.

    Returns:
        `ids (B, K, C)` and `gains (B, K, C)`. A forced token is the first
        candidate, and all others have `-inf`. A forced id outside the
        vocabulary has `-inf` as well.
    """
    if prefix is None:
        return ids, gains
    places = ops.arange(ops.shape(prefix)[1], dtype="int32")
    forced = ops.where(ops.equal(places, position), prefix, 0)
    # The sum of one token and zeros: beyond the prefix it is 0.
    forced = ops.cast(ops.sum(forced, axis=1), "int32")[:, None]  # (B, 1)
    known = ops.logical_and(forced > 0, forced < ops.shape(log_probs)[-1])
    token = ops.where(known, forced, ops.zeros_like(ids[..., 0]))  # (B, K)
    gain = ops.where(known, pick(log_probs, token), -math.inf)
    first = ops.equal(ops.arange(ops.shape(ids)[-1], dtype="int32"), 0)
    here = ops.not_equal(forced, 0)[..., None]
    alone = ops.where(first, gain[..., None], -math.inf)
    ids = ops.where(here, token[..., None], ids)
    return ids, ops.where(here, alone, gains)


def as_prefix(prefix, batch_size=None):
    """Convert a prefix to a tensor of ids.

    Args:
        prefix: Ids `(B, P)`, or `None`.
        batch_size: `B`, if it is known. Defaults to `None`.

    Returns:
        `(B, P)` int32, or `None`.

    Raises:
        ValueError: If it does not have two axes and `B` rows, or if it contains
            no ids.
    """
    if prefix is None:
        return None
    try:
        prefix = ops.convert_to_tensor(prefix, ragged=False)  # pads with 0
        shape = tuple(prefix.shape)
    except (TypeError, ValueError):
        shape = ("rows of different lengths",)
    rows, needs = known_integer(batch_size), "`prefix` must be ids (B, P)"
    way_out = "Pad shorter rows with 0. To use one prefix for all rows: "
    way_out += f"np.repeat(prefix, {rows}, axis=0)."
    check_shape(
        f"{needs}, with one row for each source",
        "prefix",
        shape,
        (rows, "P"),
        way_out,
    )
    dtype = keras.backend.standardize_dtype(prefix.dtype)
    if shape[1] != 0 and "int" not in dtype:  # an empty list becomes floats
        raise ValueError(
            f"`prefix` must contain integers. Received: prefix.dtype={dtype}. "
            "Pass ids, such as those from a tokenizer."
        )
    return ops.cast(prefix, "int32")


def as_memory_mask(mask, batch_size=None):
    """Convert the memory mask of a search to booleans.

    Args:
        mask: Boolean `(B, Tv)`, or `None`.
        batch_size: `B`, if it is known. Defaults to `None`.

    Returns:
        A tensor, or `None`.

    Raises:
        ValueError: If it does not have two axes and `B` rows.
    """
    if mask is None:
        return None
    check_dense("A search needs booleans (B, Tv)", "memory_mask", mask)
    mask = ops.cast(ops.convert_to_tensor(mask), "bool")
    rows = known_integer(batch_size)
    needs = (
        "`memory_mask` must be booleans (B, Tv), with one row for each source"
    )
    way_out = (
        "To create it from lengths (B,): np.arange(Tv) < lengths[:, None]."
    )
    check_shape(needs, "memory_mask", mask.shape, (rows, "Tv"), way_out)
    return mask


def known_integer(size):
    """Return a size as an integer, or `None` if it is a graph tensor."""
    try:
        return operator.index(size)
    except TypeError:
        return None
