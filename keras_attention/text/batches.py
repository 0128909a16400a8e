"""The order of pairs in an epoch, and the batches that they make."""

from collections.abc import Iterator

import keras
import numpy as np

from keras_attention.data import Position
from keras_attention.text.base import PAD
from keras_attention.text.buckets import choose_buckets
from keras_attention.text.corpus import Corpus
from keras_attention.text.shards import Shard
from keras_attention.text.shards import own_rows
from keras_attention.text.subwords import SubwordSampler

RELEASED = 2  # batches, after which mapped files are let go: 16 MB each
AT_ONCE = 2**18  # pairs that are looked up, as NumPy copies their numbers


class Batches:
    """Yields the batches of one epoch at each call.

    An epoch is a permutation of numbers: what is in memory is a few bytes a
    pair, and the pairs of one batch.

    Args:
        corpus: The pairs.
        batch_size: The number of pairs in a batch of this process.
        training: Whether to shuffle, and to leave out the last batch unless
            it is full.
        seed: The seed of shuffling, or `None`.
        buckets: The maximum number of buckets.
        shard: The number of this process, and the number of processes.

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
    ):
        self.corpus, self.sampler = corpus, None
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
        ends, self.widths = choose_buckets(corpus.lengths(), buckets)
        self.bucket = np.empty(count, np.min_scalar_type(len(ends)))
        start = 0
        for lengths in corpus.lengths():
            found = np.searchsorted(ends, lengths.max(axis=0))
            self.bucket[start : start + len(found)] = found
            start += len(found)
        sides = (part[k] for k in range(2) for part in corpus.lengths())
        self.position = Position(seed, sides, batch_size, buckets)
        if training:
            self.position.remember()

    def sample(self, rate: float, tokenizers):
        """Draw segmentations of both sides anew in every batch.

        Args:
            rate: As of `SentencePieceTokenizer.sample`.
            tokenizers: Those of both sides.
        """
        self.sampler = SubwordSampler(rate, tokenizers, self.corpus)
        self.widths = self.sampler.choose_widths(
            self.bucket, self.widths, np.random.default_rng(self.position.seed)
        )

    def __len__(self) -> int:
        full, rest = divmod(len(self.bucket), self.batch_size)
        return full + (rest > 0 and not self.training)

    def __call__(self) -> Iterator:
        random = self.position.next_generator()
        for number, pairs in enumerate(self._plan(random)):
            sides = [[side[i] for i in pairs] for side in self.corpus.sides]
            widths = self._widths(pairs, sides)
            if self.sampler:
                sides = self.sampler.draw(pairs, widths, random)
            own = [own_rows(side, self.shard) for side in sides]
            rows = self.rows if self.fills else len(own[0])
            source, target = (
                _padded(side, rows, width)
                for side, width in zip(own, widths, strict=True)
            )
            yield (source, target[:, :-1]), target[:, 1:]
            if number % RELEASED == 0:
                self.corpus.release()

    def _widths(self, pairs, sides):
        """Return the widths of the first bucket that holds all rows.

        Drawn segmentations need those of the bucket of the longest pair.
        """
        if self.sampler:
            return self.widths[self.bucket[pairs].max()]
        longest = [max(map(len, side)) for side in sides]
        return self.widths[(self.widths >= longest).all(axis=1).argmax()]

    def _plan(self, random):
        """Return an iterator over the pairs of each batch."""
        count = len(self.bucket)
        dtype = "int32" if count < 2**31 else "int64"
        order = np.arange(count, dtype=dtype)
        if self.training:
            random.shuffle(order)
        order = self._by_bucket(order)
        if self.training:  # leave out short pairs as often as long ones
            first = random.integers(count % self.batch_size + 1)
            order = order[first : first + len(self) * self.batch_size]
        starts = np.arange(0, len(order), self.batch_size)
        if self.training:
            random.shuffle(starts)
        # What is drawn by the sampler comes after all of this.
        return (order[i : i + self.batch_size] for i in starts)

    def _by_bucket(self, order):
        """Sort pairs by bucket, and leave those of a bucket in their order."""
        bucket, start = np.empty_like(self.bucket), 0
        for first in range(0, len(order), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            bucket[some] = self.bucket[order[some]]
        found = np.empty_like(order)
        for k in range(len(self.widths)):
            own = order[bucket == k]
            found[start : start + len(own)] = own
            start += len(own)
        return found


def _padded(found, rows, width):
    ids = np.full((rows, width), PAD, "int32")
    for row, place in zip(found, ids, strict=False):
        place[: len(row)] = row
    return ids
