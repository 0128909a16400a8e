"""From text to text, in one graph where TensorFlow is the backend."""

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.models import Seq2Seq
from keras_attention.ops.fast_paths import counted_alone
from keras_attention.ops.fast_paths import fast_path
from keras_attention.outputs import Shortlist
from keras_attention.search import AbstractSearch
from keras_attention.text import AbstractTokenizer
from keras_attention.text import aligned_words
from keras_attention.text import copied_words
from keras_attention.text import cut_or_pad
from keras_attention.text import spell_source
from keras_attention.text import spell_target
from keras_attention.text.tensors import tf

TEXT = tf.TensorSpec((None,), tf.string, name="text")
PREFIX = tf.TensorSpec((None,), tf.string, name="prefix")


class _Stages(NamedTuple):
    """The functions that read and write text, before and after the model."""

    read: Callable
    begin: Callable
    write: Callable


class TranslationGraph:
    """Tokenizes, generates and detokenizes, for any batch and any length.

    A translator calls its functions, and an export writes them. On TensorFlow
    each of them is one graph. Where the model is compiled for each shape, on
    JAX or by XLA, only the stages that read and write text are traced.

    Args:
        model: A `Seq2Seq`.
        source_tokenizer: Turns text into ids.
        target_tokenizer: Turns ids into text.
        search: A search strategy.
        max_source_length: The most ids of a source, start and end included;
            longer ones are cut. `None`, the default, cuts nothing.
        replace_unknown: Whether an unknown word is written as the word of
            the source that has most attention. Defaults to `False`.
        shortlist: A `Shortlist` that fits the model, or `None`. Defaults to
            `None`.

    Attributes:
        translate: Function of `text (B,)`, to `translations (B, N)` and
            `scores (B, N)`, float32. It keeps no attention.
        align: The same with `source_tokens (B, Tv)`, `target_tokens (B, N,
            T)` and, if the model attends, `attention (B, N, T, Tv)`.
        complete: As `translate`, of `text (B,)` and `prefix (B,)`, with which
            each translation of a row begins.
        align_complete: As `align`, likewise.
        count: Function of `text (B,)`, to the number of ids of each row
            before any is cut.
    """

    def __init__(
        self,
        model: Seq2Seq,
        source_tokenizer: AbstractTokenizer,
        target_tokenizer: AbstractTokenizer,
        search: AbstractSearch,
        max_source_length: int | None = None,
        replace_unknown: bool = False,
        shortlist: Shortlist | None = None,
    ):
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.search = search
        self.max_source_length = max_source_length
        self.replace_unknown = replace_unknown
        self.shortlist = shortlist
        xla = model.uses_xla
        whole = fast_path("HAS_TEXT", True) and not xla
        stages = _Stages(self._read, self._begin, self._write)
        if not whole:
            stages = _Stages(
                _traced(self._read, TEXT), *map(_retraced, stages[1:])
            )

        def align(text, prefix=None):
            return self._run(stages, text, prefix, True)

        def translate(text, prefix=None):
            answer = self._run(stages, text, prefix, self.replace_unknown)
            return {name: answer[name] for name in ("translations", "scores")}

        def made(function, *signature):
            return _traced(function, *signature) if whole else function

        self.count = _traced(source_tokenizer.count, TEXT)
        self.translate = made(translate, TEXT)
        self.align = made(align, TEXT)
        self.complete = made(translate, TEXT, PREFIX)
        self.align_complete = made(align, TEXT, PREFIX)

    def _run(self, stages, text, prefix, attends):
        (ids, words), begun = stages.read(text), None
        if prefix is not None:
            prefix, begun = stages.begin(prefix, ids, words)
        tokens, scores, _, weights = self._generate(ids, prefix, attends)
        return stages.write(ids, words, begun, tokens, scores, weights)

    def _read(self, text):
        """Turn text into ids, and split it into words if they are needed.

        Args:
            text: Strings `(B,)`.

        Returns:
            Ids `(B, Tv)`, and the word behind each `(B, Tv)`, or `None` if no
            word of the source can come into a translation.
        """
        ids = self.source_tokenizer.tokenize(text, self.max_source_length)
        # An empty batch has no longest row; an RNN reads step 0 all the same.
        missing = tf.maximum(0, 1 - tf.shape(ids)[1])
        ids = tf.pad(ids, [[0, 0], [0, missing]])
        words = None
        if self.replace_unknown or self.model.source_ids:
            words = aligned_words(self.source_tokenizer, text, ids)
        if self.model.source_ids:
            ids = spell_source(ids, words, self.model.target_vocabulary_size)
        return tf.ensure_shape(ids, (None, None)), words

    def _begin(self, prefix, source_ids, source_words):
        """Turn the beginnings of translations into ids.

        Args:
            prefix: Strings `(B,)`.
            source_ids: `(B, Tv)`.
            source_words: Their words `(B, Tv)`, or `None`. If words are
                copied, those of the prefix can be, too.

        Returns:
            Ids and words `(B, P)`, with `P` at most `max_length`.
        """
        clean = self.target_tokenizer.clean(prefix)
        ids = self.target_tokenizer.encode(clean)
        longest = tf.reduce_max(tf.pad(ids.row_lengths(), [[0, 1]]))
        longest = tf.minimum(longest, self.search.max_length)
        ids = cut_or_pad(ids, longest)
        words = cut_or_pad(self.target_tokenizer.surfaces(prefix), longest)
        if self.model.source_ids:
            size = self.model.target_vocabulary_size
            ids = spell_target(ids, words, source_ids, source_words, size)
        return ids, words

    def _generate(self, ids, prefix, attends):
        """Call the model, with tensors of text on both sides."""
        more = attends, self.shortlist
        if fast_path("HAS_TEXT", True):
            return self.model.generate(ids, self.search, prefix, *more)
        prefix = None if prefix is None else np.asarray(prefix)
        ids = np.asarray(ids)
        found = self.model.generate(ids, self.search, prefix, *more)
        return [
            None if x is None else tf.constant(keras.ops.convert_to_numpy(x))
            for x in found
        ]

    def _write(self, ids, words, begun, tokens, scores, weights):
        """Turn ids into text.

        Args:
            ids: The source, `(B, Tv)`.
            words: Its words `(B, Tv)`, or `None`.
            begun: The words that translations begin with, `(B, P)`, or `None`.
                Unknown ones are written as they are.
            tokens: Ids of the translations, `(B, N, T)`.
            scores: Their scores, `(B, N)`.
            weights: Their attention, `(B, N, T, Tv)`, or `None`.

        Returns:
            The outputs of `align`, by their names.
        """
        sources = self.source_tokenizer.tokens(ids)
        targets = self.target_tokenizer.tokens(tokens)
        unknown = None
        if self.replace_unknown:
            unknown = self._attended(words, weights)
        if self.model.source_ids:
            size = self.model.target_vocabulary_size
            copied = copied_words(tokens, words, size)
            unknown = _first_word(copied, unknown)
            targets = _first_word(copied, targets)
            sources = _first_word(copied_words(ids, words, size), sources)
        if begun is not None:
            count = tf.shape(tokens)
            missing = tf.maximum(0, count[2] - tf.shape(begun)[1])
            begun = tf.pad(begun, [[0, 0], [0, missing]])[:, None, : count[2]]
            unknown = _first_word(tf.broadcast_to(begun, count), unknown)
        unknown = None if unknown is None else _rows(unknown)
        texts = self.target_tokenizer.detokenize(_rows(tokens), unknown)
        answer = {
            "translations": tf.reshape(texts, tf.shape(scores)),
            "scores": tf.cast(scores, tf.float32),
            "source_tokens": sources,
            "target_tokens": targets,
        }
        if weights is not None:
            answer["attention"] = tf.cast(weights, tf.float32)
        return answer

    def _attended(self, words, weights):
        """Find the source's word for every token, as strings `(B, N, T)`."""
        if weights is None:
            raise ValueError(
                "`replace_unknown` needs a model that attends to its source. "
                "Received: replace_unknown=True with a model whose decoder "
                "has no attention. Leave `replace_unknown` out."
            )
        real = tf.cast(words != "", weights.dtype)[:, None, None]
        _, best = tf.math.top_k(weights * real)
        return tf.gather(words, best[..., 0], batch_dims=1)


def _traced(function, *signature):
    return tf.function(counted_alone(function), signature, autograph=False)


def _retraced(function):
    alone = counted_alone(function)
    return tf.function(alone, autograph=False, reduce_retracing=True)


def _first_word(words, others):
    """Take each word, or where it is empty the other one."""
    return words if others is None else tf.where(words == "", others, words)


def _rows(x):
    """Turn `(B, N, T)` into `(B * N, T)`."""
    return tf.reshape(x, (-1, x.shape[-1]))
