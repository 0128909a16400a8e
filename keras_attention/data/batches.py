"""The order of pairs in an epoch, and the batches that they make."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

import keras
import numpy as np

from keras_attention.checks import check_integer
from keras_attention.data.corpus import Corpus
from keras_attention.data.positions import Position
from keras_attention.text.sentencepiece import SentencePieceTokenizer

RELEASED = 2  # batches, after which mapped files are let go: 16 MB each
AT_ONCE = 2**18  # pairs that are looked up, as NumPy copies their numbers
CANDIDATES = 256  # for the ends of buckets
TRIED = 512  # segmentations of pairs of a bucket that are drawn for its width
Shard = tuple[int, int]


class Batches:
    """Yields the batches of one epoch at each call.

    An epoch is a permutation of numbers: what is in memory is a few bytes a
    pair, and the pairs of one batch. Several processes read every `count`-th
    pair of each batch of all of them; pairs of a batch are sorted by length in
    part, so this spreads long ones evenly.

    Args:
        corpus: The pairs.
        batch_size: The number of pairs in a batch of this process.
        training: Whether to shuffle, and to leave out the last batch unless
            it is full.
        seed: The seed of shuffling, or `None`.
        buckets: The maximum number of buckets.
        shard: The number of this process, and the number of processes.
        rate: As of `SentencePieceTokenizer.sample`, to draw segmentations of
            both sides anew in every batch. Defaults to `0.0`, the best ones.
        tokenizers: Those of both sides, which draw.
        max_length: The maximum length of what is drawn, or `None`.

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
    ):
        self.corpus = corpus
        self.rate, self.tokenizers = rate, tokenizers
        self.rows = batch_size
        self.shard = shard
        self.batch_size = batch_size = batch_size * shard[1]
        self.fills = keras.distribution.distribution() is not None
        self.training = training
        count = len(corpus.sides[0])
        if count < (batch_size if training else 1):
            each = f" in each of {shard[1]} processes" if shard[1] > 1 else ""
            raise ValueError(
                "parallel_dataset needs pairs for at least one batch. "
                f"Received: batch_size={self.rows}{each}, and "
                f"{count} pairs that are not too long or empty. "
                "Lower `batch_size`, raise `max_length` or give more text."
            )
        least = min(batch_size, count)
        ends, self.widths = choose_buckets(corpus.lengths(), buckets, least)
        kind = np.min_scalar_type(len(ends))
        longest = (lengths.max(axis=0) for lengths in corpus.lengths())
        self.bucket = np.concatenate(
            [np.searchsorted(ends, x).astype(kind) for x in longest]
        )
        self.position = Position(
            seed,
            lambda: (x for s in corpus.sides for x in (s.values, s.offsets)),
            *(batch_size, buckets, *shard, *([rate] if rate else [])),
        )
        if rate:
            random = np.random.default_rng(self.position.seed)
            self.widths = self._widths_of_draws(random, max_length)
        if training:
            self.position.remember()

    def __len__(self) -> int:
        full, rest = divmod(len(self.bucket), self.batch_size)
        return full + (rest > 0 and not self.training)

    def __call__(self) -> Iterator:
        epoch, random = self.position.next_epoch()
        index, count = self.shard
        for number, pairs in enumerate(self._plan(random, epoch)):
            sides = [[side[i] for i in pairs] for side in self.corpus.sides]
            widths = self._widths(pairs, sides)
            if self.rate:
                sides = self._drawn(pairs, sides, widths, random)
            own = [side[index::count] for side in sides]
            rows = self.rows if self.fills else len(own[0])
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
        """Return the widths of the first bucket that holds all rows.

        Drawn segmentations need those of the bucket of the longest pair.
        """
        if self.rate:
            return self.widths[self.bucket[pairs].max()]
        longest = [max(map(len, side)) for side in sides]
        return self.widths[(self.widths >= longest).all(axis=1).argmax()]

    def _drawn(self, pairs, sides, widths, random):
        """Draw segmentations, and keep the best for what is too long."""
        drawn = self._draw(pairs, random)
        return [
            [x if len(x) <= width else y for x, y in zip(*rows, strict=True)]
            for *rows, width in zip(drawn, sides, widths, strict=True)
        ]

    def _draw(self, pairs, random):
        """Draw segmentations of both sides of some pairs."""
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
        """Return the widths of buckets for the segmentations that are drawn.

        Those are longer than the best ones. A bucket gets the width of the
        longest of some that are drawn for its pairs.
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
        order = np.arange(count, dtype=dtype)
        if self.training:
            # All pairs are left out equally often, and none twice in a row.
            left = count % self.batch_size
            order = np.roll(order, -epoch * left % count)[left:]
            random.shuffle(order)
        order = self._by_bucket(order)
        starts = np.arange(0, len(order), self.batch_size)
        if self.training:
            random.shuffle(starts)
        # What is drawn by the sampler comes after all of this.
        return (order[i : i + self.batch_size] for i in starts)

    def _by_bucket(self, order):
        """Sort pairs by bucket, and leave those of a bucket in their order."""
        parts = range(0, len(order), AT_ONCE)
        bucket = [self.bucket[order[i : i + AT_ONCE]] for i in parts]
        bucket = np.concatenate(bucket)
        by_bucket, start = np.empty_like(order), 0
        for k in range(len(self.widths)):
            pairs = order[bucket == k]
            by_bucket[start : start + len(pairs)] = pairs
            start += len(pairs)
        return by_bucket


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
    count = check_integer("shard[1]", shard[1])
    return check_integer("shard[0]", shard[0], 0, count - 1), count


def choose_buckets(
    lengths: Iterable[np.ndarray], buckets: int, least: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the buckets that need least padding, by dynamic programming.

    Args:
        lengths: The lengths of both sides of each pair, in parts `(2, n)`.
        buckets: The maximum number of buckets.
        least: The minimum number of pairs in a bucket. Defaults to `1`.

    Returns:
        ends: `(K,)`, rising: the longer side of the longest pair in each
            bucket.
        widths: `(K, 2)`: the lengths to which a bucket pads its two sides.
    """
    ends, pairs, widths = _candidates(lengths)
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


def _candidates(lengths):
    """Return some ends `(E,)`, the pairs up to each, and their widths."""
    counts, widest = _count(lengths)
    up_to = counts.cumsum()
    shares = np.linspace(0, 1, CANDIDATES)
    places = np.ceil((up_to[-1] - 1) * shares).astype("int64")
    ends = np.unique(np.searchsorted(up_to, places, side="right"))  # (E,)
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
