"""Shards: the rows of every batch that one process of several reads."""

import numpy as np

from keras_attention.checks import check_integer

Shard = tuple[int, int]


def check_shard(shard: Shard | None) -> Shard:
    """Check a shard.

    Args:
        shard: The number of a process, from 0, and the number of processes;
            or `None` for the only one.

    Returns:
        Both as Python integers.

    Raises:
        ValueError: If they are no such numbers.
    """
    if shard is None:
        return 0, 1
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        raise ValueError(
            "`shard` must be a pair: the number of this process, from 0, and "
            f"the number of processes. Received: shard={shard!r}. On JAX give "
            "(jax.process_index(), jax.process_count())."
        )
    index = check_integer("shard[0]", shard[0], 0)
    count = check_integer("shard[1]", shard[1])
    if index >= count:
        raise ValueError(
            "`shard` needs an index below its count. Received: "
            f"shard={tuple(shard)!r}. Of {count} processes, the last is "
            f"({count - 1}, {count})."
        )
    return index, count


def own_rows(pairs: np.ndarray, shard: Shard) -> np.ndarray:
    """Select every `count`-th pair of a batch of all processes.

    Batches are sorted by length in part, so this spreads long pairs evenly.

    Args:
        pairs: Numbers of pairs, `(N,)`.
        shard: The number of this process, and the number of processes.

    Returns:
        Those of this process: as many as those of others, or one less.
    """
    index, count = shard
    return pairs[index::count]
