"""Batch parallel text for teacher forcing, with few different shapes."""

import importlib.util
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras

from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.checks import check_object
from keras_attention.data.batches import Batches
from keras_attention.data.batches import Shard
from keras_attention.data.batches import check_shard
from keras_attention.data.cache import Cache
from keras_attention.data.corpus import read_corpus
from keras_attention.data.encode import SIDES
from keras_attention.data.encode import PairEncoder
from keras_attention.data.pairs import Texts
from keras_attention.data.pairs import pair_texts
from keras_attention.extras import require
from keras_attention.text.base import FRAME
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.segmentation import load_sampler
from keras_attention.text.sentencepiece import SentencePieceTokenizer


def parallel_dataset(
    sources: Texts,
    targets: Texts,
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
    cache: str | Path | None = None,
    max_tokens: int | None = None,
) -> Any:
    r"""Read parallel text and batch it for `fit` and `evaluate`.

    Every batch is `((source, target[:, :-1]), target[:, 1:])`, int32, with
    `source (B, Tv)` and `target (B, Tq + 1)`, padded with 0. The text is
    tokenized once, with a progress bar on a terminal. The ids are kept in
    memory, or in the files of a `cache`.

    The pairs are divided by length into at most `buckets` buckets. A bucket has
    at least as many pairs as a batch, and is as wide as its longest pair. A
    batch contains pairs of similar length, and is padded to the width of the
    bucket of its longest pair. Therefore, full batches have at most `buckets`
    shapes.

    With `max_tokens`, batches of long pairs have fewer rows. The number of rows
    of a batch, times the width of its wider side (source or target), is then at
    most `max_tokens`. This limits the memory of a training step. A pair with
    more than `max_tokens` tokens on a side is a batch by itself. Batches can
    then have different numbers of rows, and a bucket of long pairs can have
    fewer pairs than `batch_size`. The next paragraph then applies to each group
    of batches with equally many rows. The losses of this package average over
    the tokens of a batch.

    With `training`, pairs and batches are shuffled in every epoch, and all
    batches are full, so that `r = N mod batch_size` of `N` pairs are left out.
    The first epoch leaves out the first `r` pairs of the text, and each later
    epoch the next `r` pairs, cyclically. Therefore, a pair that one epoch
    leaves out is in the next, and all pairs are trained equally often. The same
    seed gives the same sequence of epochs. Without `training`, every pair
    occurs exactly once, short pairs first, and the last batch can be smaller.

    With `sample_subwords`, the segmentations of the pairs are sampled anew in
    every epoch, and the order of the pairs is the same as without it. To find
    the width of a bucket, 512 segmentations of its pairs are sampled; the
    longest of them determines the width. If a later sample is longer than the
    width of its batch (at most about one sample in 500) or than `max_length`,
    the most probable segmentation replaces it.

    With `shard`, each of several processes reads its part of every batch, for
    training on several machines. Together, the processes read the batches that
    one process would read with a batch size of `count * batch_size`, where
    `shard=(index, count)`: no pair is lost or read twice. All processes have
    the same number of batches, with the same widths in the same order. The
    processes do not communicate. Therefore, give them the same files and
    arguments, and iterate equally often in each of them. Every process reads
    and tokenizes the whole text, unless the processes share a `cache`.

    With `cache`, text can be larger than memory. Ids are written to a folder in
    `cache`. All processes that use the same text and tokenizers, now or later,
    memory-map this folder. An epoch needs five bytes of memory per pair. A
    cache does not change the batches. Each combination of file contents,
    tokenizers and package version has its own folder. If several processes
    start together, one of them writes the folder, and the other processes wait.
    A folder is written completely or not at all; a damaged folder is created
    again, with a warning. Folders are never removed: delete `cache`, or its
    content, when no process uses it.

    Without `training`, the last batch of one shard can have one pair fewer than
    the last batch of another shard, and can even be empty. Devices of a
    `keras.distribution` need equal numbers of rows. Therefore, if a
    distribution is set when the dataset is created, the last batch is filled
    with rows of padding, which losses and metrics of this package ignore.

    Pairs that are too long or have a blank side are dropped, with a warning
    that counts them. The attribute `dropped` of the dataset has the same
    counts, such as `{"too_long": 0, "empty": 0}`; datasets returned by `map` or
    `take` do not have this attribute. Keras warns that it cannot shuffle
    datasets; to avoid this warning, call `model.fit(dataset, shuffle=False)`.

    Args:
        sources: The `Path` of a UTF-8 file with one sentence per line, plain
            or gzip; a list of such paths; or sentences in any container that
            `Translator` accepts, such as a list of `str` or a table column. A
            single `str` is a file name.
        targets: The same number of files or sentences, in the same order:
            each line is the translation of the same line in `sources`.
        source_tokenizer: The source tokenizer.
        target_tokenizer: The target tokenizer.
        batch_size: Number `B` of pairs in a batch of one process.
        training: Whether to shuffle, and to drop the last batch unless it is
            full. Defaults to `False`.
        seed: The random seed for shuffling, not negative. Defaults to `None`,
            which means a new seed in every call. With `shard`, `None` means
            the seed 0.
        max_length: Maximum length of a side, including start and end. Defaults
            to `None`, which means no limit.
        buckets: Maximum number of buckets. Defaults to `8`.
        copying: Whether to prepare batches for a model with `copying=True`. A
            word that is not in the vocabulary of `V` ids then gets the id
            `V + j`, where `j` is its first position in the source. Both
            tokenizers must have the same vocabulary. Defaults to `False`.
        sample_subwords: The `rate` for sampling new segmentations of both
            sides in every epoch, as in `SentencePieceTokenizer.sample`. It
            has no effect without `training`. Defaults to `0.0`, which always
            uses the best segmentation.
        shard: The pair `(index, count)`: the index of this process, from 0,
            and the number of processes. Defaults to `None`, a single process.
        cache: A folder for the ids, which is created if missing. It takes about
            half as much disk space as the plain text. Defaults to `None`, which
            keeps the ids in memory.
        max_tokens: Maximum number of source tokens, and of target tokens, in a
            batch of one process, including padding. Defaults to `None`, which
            means no limit: every batch has `batch_size` pairs.

    Returns:
        A `tf.data.Dataset` with a known number of batches; if TensorFlow is
        not installed, a `keras.utils.PyDataset` with the same batches.

    Raises:
        ValueError: If a number is out of range, a file is invalid, two texts
            have different numbers of lines, a list of `str` contains file
            names, there are too few pairs for a batch, a tokenizer is a
            `ParallelTokenizer`, `copying` is set but the vocabularies differ,
            or a tokenizer does not support `sample_subwords`.
        OSError: If `cache` cannot be written, or the disk is full.

    Example:

    >>> from keras_attention import CharacterTokenizer, parallel_dataset
    >>> text = ["12", "3"]
    >>> digits = CharacterTokenizer("0123456789")
    >>> dataset = parallel_dataset(text, text, digits, digits, batch_size=2)
    >>> (source, inputs), labels = next(iter(dataset))
    >>> source.numpy().tolist(), labels.numpy().tolist()
    ([[2, 5, 6, 3], [2, 7, 3, 0]], [[5, 6, 3], [7, 3, 0]])
    """
    check_integer("batch_size", batch_size)
    check_integer("buckets", buckets)
    if seed is not None:
        check_integer("seed", seed, 0, math.inf)
    if max_length is not None:
        check_integer("max_length", max_length, FRAME + 1)
    if max_tokens is not None:
        check_integer("max_tokens", max_tokens, 1, math.inf)
    shard = check_shard(shard)
    if seed is None and shard[1] > 1:
        seed = 0  # the same order in all processes
    tokenizers = source_tokenizer, target_tokenizer
    _check_tokenizers(tokenizers)
    check_number("sample_subwords", sample_subwords, least=0, most=1)
    rate = sample_subwords if training else 0
    encoder = PairEncoder(
        tokenizers, max_length, copying=copying, keep_texts=rate > 0
    )
    if sample_subwords:
        _check_can_sample(sample_subwords, tokenizers, copying)
    cache = None if cache is None else Cache(cache)
    corpus = read_corpus(pair_texts(sources, targets), encoder, cache)
    _warn_of_drops(corpus, max_length)
    batches = Batches(
        *(corpus, batch_size, training, seed, buckets, shard),
        *(rate, tokenizers, max_length, max_tokens),
    )
    dataset = _as_dataset(batches)
    dataset.dropped = corpus.dropped
    dataset.position = batches.position
    return dataset


def _check_tokenizers(tokenizers):
    for side, x in zip(SIDES, tokenizers, strict=True):
        way_out = "Train one, such as WordTokenizer.train."
        check_object(f"{side}_tokenizer", x, AbstractTokenizer, way_out)
        if len(x.parts) > 1:  # of an `Ensemble`, which does not train
            raise ValueError(
                f"parallel_dataset needs a single `{side}_tokenizer`. "
                f"Received: a {type(x).__name__} with {len(x.parts)} "
                "tokenizers. Train each model separately, with one of these "
                f"tokenizers: `{side}_tokenizer.parts[0]` and so on."
            )


def _check_can_sample(rate, tokenizers, copying):
    """Raise a `ValueError` if tokenizers cannot sample segmentations."""
    kinds = [type(tokenizer).__name__ for tokenizer in tokenizers]
    can = all(isinstance(x, SentencePieceTokenizer) for x in tokenizers)
    if copying or not can:
        raise ValueError(
            "`sample_subwords` needs a SentencePieceTokenizer on both sides, "
            f"and copying=False. Received: sample_subwords={rate}, "
            f"copying={copying}, tokenizers={kinds}. Leave it out, or train a "
            "SentencePieceTokenizer."
        )
    for tokenizer in tokenizers:
        load_sampler(tokenizer.model)  # refuses one without a choice


def _warn_of_drops(corpus, max_length):
    dropped = corpus.dropped
    count = sum(dropped.values())
    if count:
        warnings.warn(
            f"parallel_dataset drops {count} of {count + len(corpus.sides[0])} "
            f"pairs: {dropped['too_long']} with a side longer than "
            f"max_length={max_length} tokens, {dropped['empty']} with an empty "
            "side.",
            stacklevel=3,
        )


def _as_dataset(batches):
    if importlib.util.find_spec("tensorflow") is None:
        return BatchSequence(batches)
    room = require(
        "keras_attention.backend.tensorflow",
        "tensorflow",
        "parallel_dataset",
    )
    return room.as_dataset(batches, len(batches), batches.rows)


class BatchSequence(keras.utils.PyDataset):
    """Provides the batches of one epoch after another to `fit`, on any backend.

    The order is that of the epoch, whatever indices Keras requests. A new
    epoch begins where a `tf.data.Dataset` would begin one: after the last
    batch, or when Keras requests an index again.

    Args:
        batches: Yields the batches of one epoch per call.
    """

    def __init__(self, batches: Batches):
        super().__init__()
        self.batches = batches
        self._forget()
        self._has_ended = False

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator:
        return self.batches()

    def __getitem__(self, index: int):
        # After an end, Keras may go on with the next number.
        left = self._has_ended and self._asked != {*range(index)}
        if left or index in self._asked:
            self._forget()
        self._has_ended = False
        if self._epoch is None:
            self._epoch = self.batches()
        self._asked.add(index)
        return next(self._epoch)

    def on_epoch_begin(self):
        """Start a new epoch if `fit` stopped within the last one."""
        if not self._has_ended:
            self._forget()

    def on_epoch_end(self):
        """Note that Keras may continue or end the epoch."""
        self._has_ended = True

    def _forget(self):
        self._epoch, self._asked = None, set()
