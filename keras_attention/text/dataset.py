"""From two parallel files to teacher-forced batches of few shapes."""

import itertools
import warnings

import numpy as np
import tensorflow as tf

from keras_attention.text.base import PAD
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.copies import aligned_words
from keras_attention.text.copies import check_shared
from keras_attention.text.copies import spell_source
from keras_attention.text.copies import spell_target
from keras_attention.text.files import Files
from keras_attention.text.files import read_parallel

SENTENCES_AT_ONCE = 1024
CANDIDATES = 256  # for the boundaries of buckets
FRAME = 2  # the start and the end id


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
) -> tf.data.Dataset:
    r"""Read parallel text and batch it for `fit` and `evaluate`.

    Every batch is `((source, target[:, :-1]), target[:, 1:])`, int32, padded
    with 0. The text is tokenized once and kept in memory as ids.

    Batches hold pairs of similar length, padded to the boundary of the
    longest one's bucket, so full batches have at most `buckets` shapes. With
    `training`, every epoch mixes and orders them anew, and leaves out fewer
    than `batch_size` pairs, those that would not fill a batch. The same seed
    gives the same row of epochs. Otherwise every pair is there exactly once,
    short ones first, and the last batch may not be full.

    Pairs that are too long, or with a side that is blank, are dropped. A
    warning counts them, and so does `dropped` of the dataset that is returned
    (not of what `map` or `take` make of it): `{"too_long": 0, "empty": 0}`.
    Keras warns that it cannot shuffle datasets itself, unless it is told so:
    `model.fit(dataset, shuffle=False)`.

    Args:
        source_files: A file with one sentence a line, UTF-8, plain or gzip,
            or a list of them.
        target_files: As many files; their lines belong to the source's.
        source_tokenizer: Makes ids of the source lines.
        target_tokenizer: Makes ids of the target lines.
        batch_size: Pairs in a batch.
        training: Whether to shuffle, and to give full batches only.
        seed: What shuffling starts from, from 0 on; `None` draws one.
        max_length: The most ids of a side, start and end included; `None`
            for no limit.
        buckets: The most buckets.
        copying: Whether words of no vocabulary get the ids that a model with
            `copying=True` tells them by: `V + j` for one that stands first at
            position `j` of the source. Both tokenizers must then have the
            same vocabulary of `V` ids.

    Returns:
        A `tf.data.Dataset` that knows its number of batches.

    Raises:
        ValueError: If a number is out of range, a file is broken, the files
            differ in lines, there are too few pairs for a batch, or if there
            is copying between two vocabularies.

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
    _check("batch_size", batch_size, 1)
    _check("seed", seed, 0)
    _check("max_length", max_length, FRAME + 1)
    _check("buckets", buckets, 1)
    tokenizers = source_tokenizer, target_tokenizer
    if copying:
        check_shared("parallel_dataset", *tokenizers)
    lines = read_parallel(source_files, target_files)
    sides = _ids(lines, tokenizers, max_length, copying)
    sides, dropped = _drop(sides, max_length)
    batches = _Batches(sides, batch_size, training, seed, buckets)
    ids = tf.TensorSpec((batch_size if training else None, None), tf.int32)
    dataset = tf.data.Dataset.from_generator(
        batches, output_signature=((ids, ids), ids)
    )
    cardinality = tf.data.experimental.assert_cardinality(len(batches))
    dataset = dataset.apply(cardinality).prefetch(tf.data.AUTOTUNE)
    dataset.dropped = dropped
    return dataset


class _Batches:
    """Puts one epoch of batches together whenever it is called."""

    def __init__(self, sides, batch_size, training, seed, buckets):
        self.sides = sides
        self.batch_size = batch_size
        self.training = training
        self.seed = np.random.SeedSequence(seed).entropy
        self.epochs = itertools.count()
        lengths = np.array([[len(ids) for ids in side] for side in sides])
        if lengths.shape[1] < (batch_size if training else 1):
            raise ValueError(
                "parallel_dataset needs pairs for at least one batch. "
                f"Received: batch_size={batch_size}, and "
                f"{lengths.shape[1]} pairs that are not too long or empty. "
                "Lower `batch_size`, raise `max_length` or give more text."
            )
        ends, self.widths = _boundaries(lengths, buckets)
        self.bucket = np.searchsorted(ends, lengths.max(axis=0))

    def __len__(self):
        full, rest = divmod(len(self.bucket), self.batch_size)
        return full + (rest > 0 and not self.training)

    def __call__(self):
        for pairs in self._plan():
            widths = self.widths[self.bucket[pairs].max()]
            source, target = (
                _padded([side[i] for i in pairs], width)
                for side, width in zip(self.sides, widths, strict=True)
            )
            yield (source, target[:, :-1]), target[:, 1:]

    def _plan(self):
        random = np.random.default_rng([self.seed, next(self.epochs)])
        count = len(self.bucket)
        order = np.arange(count)
        if self.training:
            order = random.permutation(count)
        order = order[np.argsort(self.bucket[order], kind="stable")]
        if self.training:  # leave out as many short ones as long ones
            first = random.integers(count % self.batch_size + 1)
            order = order[first : first + len(self) * self.batch_size]
        starts = np.arange(0, len(order), self.batch_size)
        if self.training:
            random.shuffle(starts)
        return [order[i : i + self.batch_size] for i in starts]


def _check(name, value, least):
    if value is None and name in ("seed", "max_length"):
        return
    if not isinstance(value, int | np.integer) or value < least:
        raise ValueError(
            f"parallel_dataset needs a whole number from {least} on. "
            f"Received: {name}={value!r}. Change `{name}`."
        )


def _ids(lines, tokenizers, max_length, copying):
    """Tokenize, one array a line; what is too long stays so, by one id."""
    cut = None if max_length is None else max_length + 1
    rows = [], []
    for start in range(0, len(lines[0]), SENTENCES_AT_ONCE):
        texts = [side[start : start + SENTENCES_AT_ONCE] for side in lines]
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
    """Give words of no vocabulary the ids that they have in their source."""
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
    return [[side[i] for i in kept] for side in sides], dropped


def _boundaries(lengths, buckets):
    """Choose the buckets that pad least, one more in every round.

    Args:
        lengths: `(2, N)`, the numbers of ids of both sides.
        buckets: How many there may be.

    Returns:
        For each bucket, rising, the length of a pair's longer side that it
        ends at, and the widths `(2,)` that hold every pair up to there.
    """
    longest = lengths.max(axis=0)  # (N,)
    shares = np.linspace(0, 1, CANDIDATES)
    ends = np.unique(np.quantile(longest, shares, method="higher"))  # (E,)
    widths = np.array([lengths[:, longest <= e].max(axis=1) for e in ends])
    area = widths.sum(axis=1)
    pairs = np.searchsorted(np.sort(longest), ends, side="right")
    cost = pairs * area  # of one bucket up to each end
    chosen = [[end] for end in range(len(ends))]
    for _ in range(buckets - 1):
        last = (pairs - pairs[:, None]) * area  # (E, E): from row to column
        last = np.where(last < 0, np.inf, last)
        total = cost[:, None] + last
        before = total.argmin(axis=0)
        cost = total.min(axis=0)
        chosen = [
            chosen[i] if i == end else [*chosen[i], end]
            for end, i in enumerate(before)
        ]
    return ends[chosen[-1]], widths[chosen[-1]]


def _padded(rows, width):
    ids = np.full((len(rows), width), PAD, "int32")
    for row, place in zip(rows, ids, strict=True):
        place[: len(row)] = row
    return ids
