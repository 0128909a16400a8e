"""Batches of parallel text for teacher forcing, of few shapes."""

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
    tokenized once, with a progress bar on a terminal, and kept as ids: in
    memory, or in the files of a `cache`.

    A batch holds pairs of similar length, padded to the width of the bucket
    of its longest pair, so full batches have at most `buckets` shapes. A
    bucket has at least as many pairs as a batch.

    With `max_tokens`, the batches of long pairs have fewer rows, so that the
    memory of a step is bounded whatever the longest pair: the number of rows
    times the width of the wider side is at most `max_tokens`. A pair that is
    longer is a batch by itself. A bucket whose batches have fewer rows may have
    fewer pairs than `batch_size`. What is said below of the last batch, and of
    pairs that an epoch leaves out, then holds for each number of rows. The
    losses of this package average over the tokens of a batch.

    With `training`, pairs and batches are shuffled anew in every epoch. Its
    batches are full: `N` pairs leave `r = N mod batch_size` over. Epoch `e`,
    from 0, leaves out `r` pairs in the order of the text, from pair
    `e r mod N` on, and then from the first one again. So a pair that one epoch
    leaves out is in the next, and all pairs are trained equally often. The
    same seed gives the same sequence of epochs. Without `training`, every pair
    appears exactly once, short pairs first, and the last batch may not be
    full.

    Segmentations that are drawn come in the same order of pairs. Each bucket
    is as wide as the longest of 512 that are drawn for its pairs. One that is
    longer than the bucket of its batch, at most about one in 500, or than
    `max_length`, is replaced by the best.

    With `shard`, each of several processes reads its part of every batch, for
    training on several machines. Together they read what one process reads
    with a batch of `count * batch_size` pairs: none is lost or read twice. All
    have equally many batches, with the same widths in the same order. The
    processes must agree, and do so without a word to each other: give them
    the same files and arguments, and iterate equally often in each of them.
    Every process reads and tokenizes all of the text, unless they share a
    `cache`.

    With `cache`, text may be larger than memory. Ids are written to a folder
    in `cache` and mapped from there, by all processes that use the same text
    and tokenizers, now or later; an epoch takes five bytes a pair. Batches are
    the same as without. Another content of a file, another tokenizer or
    another version makes another folder. Of processes that begin together,
    one writes, and the others wait. A folder is written whole or not at all;
    one that is damaged is made again, with a warning. Nothing is ever removed:
    delete `cache`, or what is in it, when no process uses it.

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
        sources: The `Path` of a file with one sentence a line, UTF-8, plain or
            gzip; a list of such paths; or sentences, as `Translator` takes
            them: a list of `str`, a table's column. A `str` alone is the name
            of a file.
        targets: As many files or sentences, in the same order: line `n` of
            each translates line `n` of its source.
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
        cache: A folder for the ids, which is made if missing, with room for
            about half of the plain text. Defaults to `None`: memory.
        max_tokens: The maximum number of tokens of the source or target of a
            batch, padding included, of one process. Defaults to `None`, no
            limit: every batch has `batch_size` pairs.

    Returns:
        A `tf.data.Dataset` with a known number of batches; where TensorFlow
        is not installed, a `keras.utils.PyDataset` with the same batches.

    Raises:
        ValueError: If a number is out of range, a file is broken, two texts
            differ in their number of lines, a list of `str` has names of
            files, there are too few pairs for a batch, a tokenizer is several
            side by side, the tokenizers differ in `copying`, or one cannot
            draw segmentations with `sample_subwords`.
        OSError: If `cache` cannot be written, or has no room.

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
                f"parallel_dataset needs one `{side}_tokenizer`. Received: "
                f"{type(x).__name__} of {len(x.parts)}. Train each model by "
                "itself, with one of its `parts`."
            )


def _check_can_sample(rate, tokenizers, copying):
    """Raise a `ValueError` if tokenizers cannot draw segmentations."""
    kinds = [type(tokenizer).__name__ for tokenizer in tokenizers]
    can = all(isinstance(x, SentencePieceTokenizer) for x in tokenizers)
    if copying or not can:
        raise ValueError(
            "`sample_subwords` needs a SentencePieceTokenizer on both sides, "
            f"and copying=False. Received: sample_subwords={rate}, "
            f"copying={copying}, tokenizers={kinds}. Leave it 0, or train a "
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
            f"pairs: {dropped['too_long']} with a side of more than "
            f"max_length={max_length} ids, {dropped['empty']} with an empty "
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
    """Gives `fit` the batches of one epoch after another, on any backend.

    The order is that of the epoch, whatever numbers Keras asks for. A new
    epoch begins where a `tf.data.Dataset` would begin one: when the last one
    is over, or when Keras asks for a number again.

    Args:
        batches: Yields the batches of one epoch at each call.
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
        """Begin anew if the last epoch of `fit` was left without an end."""
        if not self._has_ended:
            self._forget()

    def on_epoch_end(self):
        """Note that Keras may go on, or leave the epoch."""
        self._has_ended = True

    def _forget(self):
        self._epoch, self._asked = None, set()
