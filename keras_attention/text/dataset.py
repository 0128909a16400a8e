"""Batches of parallel text for teacher forcing, of few shapes."""

import warnings

import keras
import numpy as np
import tensorflow as tf

from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.data import Position
from keras_attention.text.base import FRAME
from keras_attention.text.base import PAD
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.buckets import choose_buckets
from keras_attention.text.copies import aligned_words
from keras_attention.text.copies import check_shared
from keras_attention.text.copies import spell_source
from keras_attention.text.copies import spell_target
from keras_attention.text.files import Files
from keras_attention.text.files import read_parallel
from keras_attention.text.sentences import split_in_parts
from keras_attention.text.shards import Shard
from keras_attention.text.shards import check_shard
from keras_attention.text.shards import own_rows
from keras_attention.text.subwords import SubwordSampler
from keras_attention.text.subwords import check_samples

SENTENCES_AT_ONCE = 1024
CHARACTERS_AT_ONCE = 2**20


def parallel_dataset(
    source_files: Files,
    target_files: Files,
    source_tokenizer: AbstractTokenizer,
    target_tokenizer: AbstractTokenizer,
    batch_size: int,
    training: bool = False,
    seed: int | None = None,
    max_length: int | None = None,
    buckets: int = 8,
    copying: bool = False,
    sample_subwords: float = 0.0,
    shard: Shard | None = None,
) -> tf.data.Dataset:
    r"""Read parallel text and batch it for `fit` and `evaluate`.

    Every batch is `((source, target[:, :-1]), target[:, 1:])`, int32, with
    `source (B, Tv)` and `target (B, Tq + 1)`, padded with 0. The text is
    tokenized once and kept in memory as ids.

    A batch holds pairs of similar length, padded to the width of the bucket
    of its longest pair, so full batches have at most `buckets` shapes. With
    `training`, pairs and batches are shuffled anew in every epoch, and those
    pairs that do not fill a batch, fewer than `batch_size`, are left out. The
    same seed gives the same sequence of epochs. Without `training`, every
    pair appears exactly once, short pairs first, and the last batch may not
    be full.

    Segmentations that are drawn come in the same order of pairs, and in the
    same shapes. One that is longer than all buckets is replaced by the best.

    With `shard`, each of several processes reads its part of every batch, for
    training on several machines. Together they read what one process reads
    with a batch of `count * batch_size` pairs: none is lost or read twice. All
    have equally many batches, with the same widths in the same order. The
    processes must agree, and do so without a word to each other: give them
    the same files and arguments, and iterate equally often in each of them.
    Every process reads and tokenizes all of the text.

    Without `training`, the last batch of some shards may have one pair less
    than that of others, or none. Devices of a `keras.distribution` need
    equally many rows. If one is set when the dataset is made, the last batch
    is filled with rows of padding, which count nothing in losses and metrics
    of this package.

    Pairs that are too long or have a blank side are dropped. A warning counts
    them, and so does the attribute `dropped` of the dataset, such as
    `{"too_long": 0, "empty": 0}`. (The results of its `map` and `take` have no
    such attribute.) Keras warns that it cannot shuffle datasets; call
    `model.fit(dataset, shuffle=False)`.

    Args:
        source_files: A file with one sentence a line, UTF-8, plain or gzip,
            or a list of files.
        target_files: As many files, in the same order: line `n` of each
            translates line `n` of its source file.
        source_tokenizer: The tokenizer of the source.
        target_tokenizer: The tokenizer of the target.
        batch_size: The number `B` of pairs in a batch, of one process.
        training: Whether to shuffle, and to leave out the last batch unless
            it is full. Defaults to `False`.
        seed: The seed of shuffling, not negative. Defaults to `None`: another
            one in every call; with `shard`, `0`.
        max_length: The maximum length of a side, with start and end. Defaults
            to `None`, no limit.
        buckets: The maximum number of buckets. Defaults to `8`.
        copying: Whether unknown words get the ids of a model with
            `copying=True`: `V + j` for a word that first appears at position
            `j` of the source. Both tokenizers must then have the same
            vocabulary of `V` ids. Defaults to `False`.
        sample_subwords: The `rate` at which segmentations of both sides are
            drawn, anew in every epoch, as by `SentencePieceTokenizer.sample`.
            It is for `training` alone, and has no effect without. Defaults to
            `0.0`, the best segmentation always.
        shard: The pair `(index, count)`: the number of this process, from 0,
            and the number of processes. Defaults to `None`: there is one.

    Returns:
        A `tf.data.Dataset` with a known number of batches.

    Raises:
        ValueError: If a number is out of range, a file is broken, two files
            differ in their number of lines, there are too few pairs for a
            batch, or the tokenizers differ in `copying`.

    Example:

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from keras_attention.text import CharacterTokenizer
    >>> from keras_attention.text import parallel_dataset
    >>> file = Path(mkdtemp()) / "digits.txt"
    >>> _ = file.write_text("12\n3\n")
    >>> digits = CharacterTokenizer("0123456789")
    >>> dataset = parallel_dataset(file, file, digits, digits, batch_size=2)
    >>> (source, inputs), labels = next(iter(dataset))
    >>> source.numpy().tolist(), labels.numpy().tolist()
    ([[2, 7, 3, 0], [2, 5, 6, 3]], [[7, 3, 0], [5, 6, 3]])
    """
    check_integer("batch_size", batch_size)
    check_integer("buckets", buckets)
    if seed is not None:
        check_integer("seed", seed, 0)
    if max_length is not None:
        check_integer("max_length", max_length, FRAME + 1)
    index, count = check_shard(shard)
    if seed is None and count > 1:
        seed = 0  # the same order in all processes
    tokenizers = source_tokenizer, target_tokenizer
    check_number("sample_subwords", sample_subwords, least=0, most=1)
    check_samples(sample_subwords, tokenizers, copying)
    if copying:
        check_shared("parallel_dataset", *tokenizers)
    lines = read_parallel(source_files, target_files)
    sides = _ids(lines, tokenizers, max_length, copying)
    sides, kept, dropped = _drop(sides, max_length)
    batches = _Batches(
        sides, batch_size, training, seed, buckets, (index, count)
    )
    if training and sample_subwords:
        texts = [[side[i] for i in kept] for side in lines]
        batches.sampler = SubwordSampler(
            sample_subwords, tokenizers, texts, sides, batches.widths[-1]
        )
    rows = batch_size if training or batches.fills else None
    ids = tf.TensorSpec((rows, None), tf.int32)
    dataset = tf.data.Dataset.from_generator(
        batches, output_signature=((ids, ids), ids)
    )
    cardinality = tf.data.experimental.assert_cardinality(len(batches))
    dataset = dataset.apply(cardinality).prefetch(tf.data.AUTOTUNE)
    dataset.dropped = dropped
    dataset.position = batches.position
    return dataset


class _Batches:
    """Yields the batches of one epoch at each call."""

    def __init__(self, sides, batch_size, training, seed, buckets, shard):
        self.sides, self.sampler = sides, None
        self.rows = batch_size
        self.shard = shard
        self.batch_size = batch_size = batch_size * shard[1]
        self.fills = keras.distribution.distribution() is not None
        self.training = training
        lengths = np.array([[len(ids) for ids in side] for side in sides])
        if lengths.shape[1] < (batch_size if training else 1):
            each = f" in each of {shard[1]} processes" if shard[1] > 1 else ""
            raise ValueError(
                "parallel_dataset needs pairs for at least one batch. "
                f"Received: batch_size={self.rows}{each}, and "
                f"{lengths.shape[1]} pairs that are not too long or empty. "
                "Lower `batch_size`, raise `max_length` or give more text."
            )
        ends, self.widths = choose_buckets(lengths, buckets)
        self.bucket = np.searchsorted(ends, lengths.max(axis=0))
        self.position = Position(seed, lengths, batch_size, buckets)
        if training:
            self.position.remember()

    def __len__(self):
        full, rest = divmod(len(self.bucket), self.batch_size)
        return full + (rest > 0 and not self.training)

    def __call__(self):
        plan, random = self._plan()
        sides = self.sampler.draw(random) if self.sampler else self.sides
        for pairs in plan:
            widths = self._widths([[side[i] for i in pairs] for side in sides])
            own = own_rows(pairs, self.shard)
            rows = self.rows if self.fills else len(own)
            source, target = (
                _padded([side[i] for i in own], rows, width)
                for side, width in zip(sides, widths, strict=True)
            )
            yield (source, target[:, :-1]), target[:, 1:]

    def _widths(self, rows):
        """Return the widths of the first bucket that holds all rows."""
        longest = [max(map(len, side)) for side in rows]
        return self.widths[(self.widths >= longest).all(axis=1).argmax()]

    def _plan(self):
        """Return the pairs of each batch, and the generator of the epoch."""
        random = self.position.next_generator()
        count = len(self.bucket)
        order = np.arange(count)
        if self.training:
            order = random.permutation(count)
        order = order[np.argsort(self.bucket[order], kind="stable")]
        if self.training:  # leave out short pairs as often as long ones
            first = random.integers(count % self.batch_size + 1)
            order = order[first : first + len(self) * self.batch_size]
        starts = np.arange(0, len(order), self.batch_size)
        if self.training:
            random.shuffle(starts)
        return [order[i : i + self.batch_size] for i in starts], random


def _ids(lines, tokenizers, max_length, copying):
    """List the ids of each line, `(T,)`.

    Rows keep one id beyond `max_length`, so that long ones can be found.
    """
    cut = None if max_length is None else max_length + 1
    rows = [], []
    sizes = [max(map(len, pair)) for pair in zip(*lines, strict=True)]
    for part in split_in_parts(sizes, SENTENCES_AT_ONCE, CHARACTERS_AT_ONCE):
        texts = [side[part] for side in lines]
        texts = [[x if x.strip() else "" for x in side] for side in texts]
        found = [
            tokenizer.tokenize(side, max_length=cut)
            for tokenizer, side in zip(tokenizers, texts, strict=True)
        ]
        if copying:
            found = _spelled(found, texts, tokenizers)
        for side, ids in zip(rows, found, strict=True):
            lengths = tf.math.count_nonzero(ids, axis=1).numpy()
            side += [
                row[:length].copy()
                for row, length in zip(ids.numpy(), lengths, strict=True)
            ]
    return rows


def _spelled(ids, texts, tokenizers):
    """Give unknown words the ids of their places in the source."""
    words = [*map(aligned_words, tokenizers, texts, ids)]
    size = tokenizers[0].vocabulary_size
    return (
        spell_source(ids[0], words[0], size),
        spell_target(ids[1], words[1], ids[0], words[0], size),
    )


def _drop(sides, max_length):
    limit = np.inf if max_length is None else max_length
    lengths = np.array([[len(ids) for ids in side] for side in sides])
    empty = lengths.min(axis=0) <= FRAME
    long = ~empty & (lengths.max(axis=0) > limit)
    dropped = {"too_long": int(long.sum()), "empty": int(empty.sum())}
    if any(dropped.values()):
        warnings.warn(
            f"parallel_dataset drops {sum(dropped.values())} of {len(long)} "
            f"pairs: {dropped['too_long']} with a side of more than "
            f"max_length={max_length} ids, {dropped['empty']} with an empty "
            "side.",
            stacklevel=3,
        )
    kept = np.flatnonzero(~(empty | long))
    return [[side[i] for i in kept] for side in sides], kept, dropped


def _padded(found, rows, width):
    ids = np.full((rows, width), PAD, "int32")
    for row, place in zip(found, ids, strict=False):
        place[: len(row)] = row
    return ids
