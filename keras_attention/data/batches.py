"""Order the pairs of an epoch, and group them into batches."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.checks import check_integer
from keras_attention.data.corpus import Corpus
from keras_attention.data.positions import Position
from keras_attention.text.sentencepiece import SentencePieceTokenizer

RELEASED = 2  # batches, after which mapped files are let go: 16 MB each
AT_ONCE = 2**18  # pairs that are looked up, as NumPy copies their numbers
CANDIDATES = 256  # for the ends of buckets
HALVES = 24  # of the longest pair, more candidates if tokens are limited
TRIED = 512  # segmentations of pairs of a bucket that are drawn for its width
MOST_TOKENS = 2**40  # more are no limit, and overflow
Shard = tuple[int, int]


class BatchSize(NamedTuple):
    """The number of pairs in a batch of all processes together.

    Attributes:
        pairs: Maximum number of pairs.
        tokens: Maximum number of tokens of the wider side, including padding,
            or `None`.
        unit: The number of devices. If `tokens` limits the number of pairs, it
            is a multiple of `unit`.
    """

    pairs: int = 1
    tokens: int | None = None
    unit: int = 1

    def rows(self, widths: np.ndarray) -> np.ndarray:
        """Return the number of pairs for each width, `(K,)`.

        Args:
            widths: `(K, 2)`: the widths of both sides.
        """
        if self.tokens is None:
            return np.full(len(widths), self.pairs)
        fitting = self.tokens // widths.max(axis=1)
        return np.clip(fitting // self.unit * self.unit, self.unit, self.pairs)


class Batches:
    """Yields the batches of one epoch per call.

    An epoch is a permutation of indices, so that only a few bytes per pair
    and the pairs of one batch are in memory. Each of several processes reads
    every `count`-th pair of each global batch. Because the pairs of a batch
    are partly sorted by length, this distributes long pairs evenly.

    Args:
        corpus: The pairs.
        batch_size: Number of pairs in a batch of this process.
        training: Whether to shuffle, and to drop the last batch unless it is
            full.
        seed: The random seed for shuffling, or `None`.
        buckets: Maximum number of buckets.
        shard: The index of this process, and the number of processes.
        rate: As in `SentencePieceTokenizer.sample`, to sample new
            segmentations of both sides in every batch. Defaults to `0.0`, the
            best segmentations.
        tokenizers: The tokenizers of both sides, for sampling.
        max_length: Maximum length of a sampled segmentation, or `None`.
        max_tokens: Maximum number of tokens of the wider side of a batch of
            this process, or `None`.

    Raises:
        ValueError: If there are too few pairs for a batch.
    """

    def __init__(
        self,
        corpus: Corpus,
        batch_size: int,
        training: bool,
        seed: int | None,
        buckets: int,
        shard: Shard,
        rate: float = 0.0,
        tokenizers: Sequence[SentencePieceTokenizer] = (),
        max_length: int | None = None,
        max_tokens: int | None = None,
    ):
        self.corpus = corpus
        self.rate, self.tokenizers = rate, tokenizers
        self.shard = shard
        size = _size(batch_size, max_tokens, shard[1])
        self.fills = keras.distribution.distribution() is not None
        self.training = training
        count = len(corpus.sides[0])
        if count < (size.pairs if training else 1):
            each = f" in each of {shard[1]} processes" if shard[1] > 1 else ""
            raise ValueError(
                "parallel_dataset needs pairs for at least one batch. "
                f"Received: batch_size={batch_size}{each}, and "
                f"{count} pairs that are not too long or empty. "
                "Lower `batch_size`, raise `max_length`, or pass more text."
            )
        ends, self.widths = choose_buckets(corpus.lengths(), buckets, size)
        kind = np.min_scalar_type(len(ends))
        longest = (lengths.max(axis=0) for lengths in corpus.lengths())
        self.bucket = np.concatenate(
            [np.searchsorted(ends, x).astype(kind) for x in longest]
        )
        self.position = Position(
            seed,
            lambda: (x for s in corpus.sides for x in (s.values, s.offsets)),
            *(size.pairs, buckets, *shard, *([rate] if rate else [])),
        )
        if rate:
            random = np.random.default_rng(self.position.seed)
            self.widths = self._widths_of_draws(random, max_length)
        self._group(size)
        if training:
            self.position.remember()

    def _group(self, size):
        """Group buckets whose batches have equally many pairs, one by one."""
        rows = size.rows(self.widths)
        if rows.min() < size.pairs:  # else batches are those without a limit
            self.position.arguments += ("max_tokens", *size)
        counts = np.bincount(self.bucket, minlength=len(rows))
        even = counts // -(-counts // rows)  # leaves out the fewest pairs
        even = np.maximum(even // size.unit * size.unit, size.unit)
        rows = np.where(rows < size.pairs, even, rows)
        self.group = np.cumsum(np.diff(rows, prepend=rows[0]) != 0)  # (K,)
        self.sizes = rows[np.unique(self.group, return_index=True)[1]]
        self.counts = np.bincount(self.group, counts).astype("int64")

    def __len__(self) -> int:
        full, rest = np.divmod(self.counts, self.sizes)
        return int(full.sum() + (0 if self.training else (rest > 0).sum()))

    @property
    def rows(self) -> int | None:
        """The number of rows of each batch, or `None` if it differs."""
        equal = len(self.sizes) == 1 and (self.training or self.fills)
        return int(self.sizes[0]) // self.shard[1] if equal else None

    def __call__(self) -> Iterator:
        epoch, random = self.position.next_epoch()
        index, count = self.shard
        for number, pairs in enumerate(self._plan(random, epoch)):
            sides = [[side[i] for i in pairs] for side in self.corpus.sides]
            widths = self._widths(pairs, sides)
            if self.rate:
                sides = self._drawn(pairs, sides, widths, random)
            own = [side[index::count] for side in sides]
            rows = len(own[0])
            if self.fills:
                group = self.group[self.bucket[pairs[0]]]
                rows = int(self.sizes[group]) // count
            source, target = (
                keras.utils.pad_sequences(
                    [*side, *[[]] * (rows - len(side))], width, padding="post"
                )
                for side, width in zip(own, widths, strict=True)
            )
            yield (source, target[:, :-1]), target[:, 1:]
            if number % RELEASED == 0:
                self.corpus.release()

    def _widths(self, pairs, sides):
        """Return the widths of the first bucket that fits all rows.

        Sampled segmentations use the widths of the bucket of the longest pair.
        """
        if self.rate:
            return self.widths[self.bucket[pairs].max()]
        longest = [max(map(len, side)) for side in sides]
        return self.widths[(self.widths >= longest).all(axis=1).argmax()]

    def _drawn(self, pairs, sides, widths, random):
        """Sample segmentations; if one is too long, use the best instead."""
        drawn = self._draw(pairs, random)
        return [
            [x if len(x) <= width else y for x, y in zip(*rows, strict=True)]
            for *rows, width in zip(drawn, sides, widths, strict=True)
        ]

    def _draw(self, pairs, random):
        """Sample segmentations of both sides of some pairs."""
        texts = [[side[i] for i in pairs] for side in self.corpus.texts]
        return [
            tokenizer.sample(
                [text.tobytes().decode() for text in side],
                self.rate,
                int(random.integers(2**32)),
            )
            for tokenizer, side in zip(self.tokenizers, texts, strict=True)
        ]

    def _widths_of_draws(self, random, max_length):
        """Return the widths of buckets for sampled segmentations.

        Those are longer than the best segmentations. A bucket is as wide as the
        longest of several samples for its pairs.
        """
        wider = []
        for number, least in enumerate(self.widths):
            pairs = np.flatnonzero(self.bucket == number)
            drawn = self._draw(random.choice(pairs, TRIED), random)
            most = [max(map(len, side)) for side in drawn]
            wider.append(np.maximum(most, least))
        return np.minimum(
            np.maximum.accumulate(wider), max_length or np.inf
        ).astype("int64")

    def _plan(self, random, epoch):
        """Return an iterator over the pairs of each batch."""
        count = len(self.bucket)
        dtype = "int32" if count < 2**31 else "int64"
        order = self._sorted(np.arange(count, dtype=dtype), self.group)
        parts = np.split(order, self.counts.cumsum()[:-1])
        if self.training:
            # All pairs are left out equally often, and none twice in a row.
            left = (self.counts % self.sizes).tolist()
            parts = [
                np.roll(x, -epoch * n % len(x))[n:]
                for x, n in zip(parts, left, strict=True)
            ]
        ends = np.cumsum([len(x) for x in parts])
        order = np.concatenate(parts)
        if self.training:
            random.shuffle(order)
        order = self._sorted(order, np.arange(len(self.widths)))
        begins = [0, *ends[:-1]]
        starts = np.concatenate(
            [*map(np.arange, begins, ends, self.sizes.tolist())]
        )
        if self.training:
            random.shuffle(starts)
        group = np.searchsorted(ends, starts, side="right")
        stops = np.minimum(starts + self.sizes[group], ends[group])
        # What is drawn by the sampler comes after all of this.
        return (order[i:j] for i, j in zip(starts, stops, strict=True))

    def _sorted(self, order, places):
        """Sort pairs by the places of their buckets, and keep their order."""
        parts = range(0, len(order), AT_ONCE)
        place = [places[self.bucket[order[i : i + AT_ONCE]]] for i in parts]
        place = np.concatenate(place).astype(self.bucket.dtype)
        found, start = np.empty_like(order), 0
        for k in range(places[-1] + 1):
            pairs = order[place == k]
            found[start : start + len(pairs)] = pairs
            start += len(pairs)
        return found


def _size(batch_size, max_tokens, processes) -> BatchSize:
    """Return the number of pairs in the batches of all processes."""
    pairs = batch_size * processes
    if max_tokens is None:
        return BatchSize(pairs)
    spread, devices = keras.distribution.distribution(), 1
    if spread is not None:
        mesh = spread.device_mesh
        axes = dict(zip(mesh.axis_names, mesh.shape, strict=True))
        devices = axes.get(spread.batch_dim_name, 1)
    unit = processes * -(-devices // processes)
    return BatchSize(pairs, min(max_tokens, MOST_TOKENS) * processes, unit)


def check_shard(shard: Shard | None) -> Shard:
    """Check a shard.

    Args:
        shard: The index of a process, from 0, and the number of processes;
            or `None` for a single process.

    Returns:
        Both as Python integers.

    Raises:
        ValueError: If they are not such integers.
    """
    if shard is None:
        return 0, 1
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        raise ValueError(
            "`shard` must be a pair: the index of this process, from 0, and "
            f"the number of processes. Received: shard={shard!r}. On JAX, pass "
            "(jax.process_index(), jax.process_count())."
        )
    count = check_integer("shard[1]", shard[1])
    return check_integer("shard[0]", shard[0], 0, count - 1), count


def choose_buckets(
    lengths: Iterable[np.ndarray],
    buckets: int,
    size: BatchSize = BatchSize(),  # noqa: B008 it never changes
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the buckets with the least padding by dynamic programming.

    Args:
        lengths: The lengths of both sides of each pair, in parts `(2, n)`.
        buckets: Maximum number of buckets.
        size: The batch size. A bucket has enough pairs for a batch of its own,
            unless tokens limit it. Defaults to one pair.

    Returns:
        ends: `(K,)`, ascending: the length of the longer side of the longest
            pair in each bucket.
        widths: `(K, 2)`: the lengths to which a bucket pads its two sides.
    """
    ends, pairs, widths = _candidates(lengths, size.tokens is not None)
    limited = size.rows(widths) < size.pairs
    least = np.where(limited, size.unit, size.pairs)
    least = np.minimum(least, pairs[-1])  # (E,)
    area = widths.sum(axis=1)
    cost = np.where(pairs < least, np.inf, pairs * area)  # of one bucket, (E,)
    chosen = [[end] for end in range(len(ends))]
    for _ in range(buckets - 1):
        last = pairs - pairs[:, None]  # (E, E): from row to column
        last = np.where((last == 0) | (last >= least), last * area, np.inf)
        total = cost[:, None] + last
        before = total.argmin(axis=0)
        cost = total.min(axis=0)
        chosen = [
            chosen[i] if i == end else [*chosen[i], end]
            for end, i in enumerate(before)
        ]
    return ends[chosen[-1]], widths[chosen[-1]]


def _candidates(lengths, halves):
    """Return some ends `(E,)`, the pairs up to each, and their widths.

    With `halves` a few very long pairs have ends of their own.
    """
    counts, widest = _count(lengths)
    up_to = counts.cumsum()
    shares = np.linspace(0, 1, CANDIDATES)
    places = np.ceil((up_to[-1] - 1) * shares).astype("int64")
    ends = np.searchsorted(up_to, places, side="right")
    if halves:
        halved = up_to[(len(up_to) - 1) >> np.arange(HALVES)]
        halved = np.searchsorted(up_to, halved[halved > 0])
        ends = np.concatenate([ends, halved])
    ends = np.unique(ends)  # (E,)
    widest = np.maximum.accumulate(widest, axis=1)
    return ends, up_to[ends], widest[:, ends].T


def _count(parts):
    """Count pairs by their longer side, and find the longest of each side.

    Returns:
        `(L,)` and `(2, L)`.
    """
    counts, widest = np.zeros(1, "int64"), np.zeros((2, 1), "int64")
    for lengths in parts:
        longest = lengths.max(axis=0)
        more = max(0, longest.max() + 1 - len(counts))
        counts = np.pad(counts, (0, more))
        widest = np.pad(widest, ((0, 0), (0, more)))
        counts += np.bincount(longest, minlength=len(counts))
        for side, most in zip(lengths, widest, strict=True):
            np.maximum.at(most, longest, side)
    return counts, widest
