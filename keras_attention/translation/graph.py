"""From text to text, in one graph where TensorFlow is the backend."""

from functools import partial

import numpy as np
from keras import ops

from keras_attention.backend import backend
from keras_attention.layers import carried_mask
from keras_attention.layers import with_mask
from keras_attention.models import AbstractModel
from keras_attention.models.generation import search_words
from keras_attention.search import AbstractSearch
from keras_attention.search import Generation
from keras_attention.search import RequiredPhrases
from keras_attention.text import AbstractTokenizer
from keras_attention.text import aligned_words
from keras_attention.text import copied_words
from keras_attention.text import cut_or_pad
from keras_attention.text import spell_source
from keras_attention.text import spell_target
from keras_attention.text.base import UNKNOWN
from keras_attention.text.tensors import tf

TEXT = tf.TensorSpec((None,), tf.string, name="text")
WORDS = tf.TensorSpec((None, None), tf.string, name="words")
PREFIX = tf.TensorSpec((None,), tf.string, name="prefix")
REQUIRED = tf.TensorSpec((None, None), tf.string, name="required")
NO_ID = 2**30  # of what no vocabulary has, and so no text


class TranslationGraph:
    """Tokenizes, generates and detokenizes, for any batch and any length.

    A translator calls `read`, and then `translate` or `align` with columns of
    what was read; an export writes `translate_text` and `align_text`. On
    TensorFlow all of each is one graph. Where the model is compiled for each
    shape, on JAX or by XLA, only the stages that read and write text are
    traced.

    Args:
        model: An `AbstractModel`.
        source_tokenizer: Turns text into ids; `None` for a model that reads
            features.
        target_tokenizer: Turns ids into text.
        search: A search strategy.
        replace_unknown: Whether an unknown word is written as the word of
            the source that has most attention. Defaults to `False`.

    Attributes:
        read: Function of `text (B,)`, to the columns of a source: ids `(B,
            Tv)`, or `(B, Tv, M)` of several tokenizers; and, if words of the
            source can come into a translation, the word behind each,
            strings `(B, Tv)`.
        inputs: Specs of the columns of a source. Those of features are
            `source (B, Tv, D)` or images, and `source_mask (B, Tv)`, boolean,
            which images do not have.
    """

    def __init__(
        self,
        model: AbstractModel,
        source_tokenizer: AbstractTokenizer | None,
        target_tokenizer: AbstractTokenizer,
        search: AbstractSearch,
        replace_unknown: bool = False,
    ):
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.search = search
        self.replace_unknown = replace_unknown
        self.reads_words = replace_unknown or model.source_ids
        self.read = _traced(self._read, TEXT)
        self._begins, self._writes = self._begin, self._write
        self._whole = backend.has_text and not model.uses_xla
        if not self._whole:
            self._begins = _retraced(self._begin)
            self._writes = _retraced(self._write)
        if source_tokenizer is None:
            columns = self.inputs = source_specs(model)
        else:
            spec = model.source_spec.shape
            ids = tf.TensorSpec(spec, tf.int32, name="ids")
            columns = (ids, WORDS) if self.reads_words else (ids,)
            self.inputs = columns
        self._functions = {}
        for more in ((), (PREFIX,), (PREFIX, REQUIRED)):
            for aligned in (False, True):
                run, given = partial(self._run, aligned), (*columns, *more)
                if self._whole:
                    run = _traced(run, *given)
                self._functions[aligned, len(given)] = run

    def translate(self, *columns) -> dict:
        """Translate what was read.

        Args:
            *columns: Those of `read`; if a translation of a row shall begin
                with a text, these texts `(B,)`; and, if it shall contain
                phrases, these `(B, C)`, `""` for none.

        Returns:
            `translations (B, N)` and `scores (B, N)`, float32. No attention is
            kept.
        """
        return self._functions[False, len(columns)](*columns)

    def align(self, *columns) -> dict:
        """Translate, and say which word of the source each token is of.

        Args:
            *columns: As of `translate`.

        Returns:
            Those of `translate`, `source_tokens (B, Tv)`, `target_tokens (B,
            N, T)`, `token_scores (B, N, T)`, float32, and, if the model
            attends, `attention (B, N, T, Tv)`.
        """
        return self._functions[True, len(columns)](*columns)

    def translate_text(self, text, max_source_length: int | None = None):
        """Translate text by one graph.

        Args:
            text: Strings `(B,)`.
            max_source_length: The most ids of a source, start and end
                included; longer ones are cut. Defaults to `None`, no limit.

        Returns:
            As of `translate`.
        """
        return self._run(False, *self._read(text, max_source_length))

    def constrain_text(
        self, text, required, max_source_length: int | None = None
    ):
        """Translate text by one graph, with phrases that must come.

        Args:
            text: Strings `(B,)`.
            required: Strings `(B, C)`, `""` for none.
            max_source_length: As of `translate_text`.

        Returns:
            As of `translate`. The score is `-inf`, and the text empty, where
            no text has all phrases.
        """
        columns = self._read(text, max_source_length)
        return self._run(False, *columns, tf.fill(tf.shape(text), ""), required)

    def translate_source(self, *columns):
        """Translate features by one graph.

        Args:
            *columns: As `inputs`; and phrases `(B, C)`, `""` for none, that
                each translation must contain, if there are any.

        Returns:
            As of `translate`.
        """
        source, more = columns[: len(self.inputs)], columns[len(self.inputs) :]
        if more:
            more = tf.fill(tf.shape(source[0])[:1], ""), *more
        return self._run(False, *source, *more)

    def align_source(self, *columns):
        """Align features by one graph, as `translate_source`."""
        return self._run(True, *columns)

    def align_text(self, text, max_source_length: int | None = None):
        """Align text by one graph, as `translate_text` translates it."""
        return self._run(True, *self._read(text, max_source_length))

    def score(self, *columns) -> dict:
        """Score given translations by the model.

        Args:
            *columns: Those of `read`, and the translations, strings `(B,)`.

        Returns:
            Of `align`: `translations (B, 1)`, `scores (B, 1)`, `target_tokens
            (B, 1, T)` and `token_scores (B, 1, T)`.
        """
        ids, *words, texts = self._masked(*columns)
        target = self.target_tokenizer.tokenize(texts)
        tokens = self.target_tokenizer.tokens(target)
        if self.model.source_ids:
            surfaces = aligned_words(self.target_tokenizer, texts, target)
            target = self._spelled(target, surfaces, ids, *words)
            tokens = _first_word(surfaces, tokens)
        found = self.model.score(_as_array(ids), np.asarray(target))
        scores, token_scores = map(ops.convert_to_numpy, found)
        return {
            "translations": texts[:, None],
            "scores": scores[:, None],
            "target_tokens": tokens[:, None, 1:],
            "token_scores": token_scores[:, None],
        }

    def _masked(self, source, *others):
        """Let features carry their mask, where it masks anything."""
        if self.source_tokenizer is not None or len(self.inputs) == 1:
            return source, *others
        mask, *others = others
        if tf.is_tensor(mask) or not np.all(mask):
            source = with_mask(ops.convert_to_tensor(source), mask)
        return source, *others

    def _run(self, aligned, *columns):
        ids, *texts = self._masked(*columns)
        words = begun = None
        if self.reads_words:
            words, *texts = texts
        read = None if self.source_tokenizer is None else ids
        search, (prefix, *required) = self.search, texts or [None]
        if prefix is not None:
            prefix, begun = self._begins(prefix, read, words)
        if required:
            phrases = self._phrases(*required, read, words)
            search = RequiredPhrases(search, phrases)
        attends = aligned or self.replace_unknown
        found = self._generate(ids, search, prefix, attends)
        answer = self._writes(read, words, begun, found)
        if aligned:
            return answer
        return {name: answer[name] for name in ("translations", "scores")}

    def _read(self, text, max_source_length=None):
        ids = self.source_tokenizer.tokenize(text, max_source_length)
        if not self.reads_words:
            return [ids]
        words = aligned_words(self.source_tokenizer, text, _first(ids))
        if self.model.source_ids:
            size = self.model.target_vocabulary_size
            own = spell_source(_first(ids), words, size)
            if len(ids.shape) == 2:
                ids = own
            else:
                ids = tf.concat([own[..., None], ids[..., 1:]], axis=-1)
        return [ids, words]

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
        ids, words = self._pieces(prefix, self.search.max_length)
        return self._spelled(ids, words, source_ids, source_words), words

    def _phrases(self, required, source_ids, source_words):
        """Turn phrases `(B, C)` into ids `(B, C, L)`.

        A word that neither the vocabulary nor, where words are copied, the
        source has gets an id that no text has.
        """
        rows, count = tf.shape(required)[0], tf.shape(required)[1]
        found = self._pieces(tf.reshape(required, (-1,)), least=1)
        ids, words = (tf.reshape(x, (rows, -1)) for x in found)
        ids = self._spelled(ids, words, source_ids, source_words)
        ids = tf.where(ids == UNKNOWN, NO_ID, ids)
        return tf.reshape(ids, (rows, count, -1))

    def _pieces(self, text, most=NO_ID, least=0):
        """Return ids and words of a target, without start and end."""
        ids = self.target_tokenizer.encode(self.target_tokenizer.clean(text))
        longest = tf.reduce_max(tf.pad(ids.row_lengths(), [[0, 1]]))
        longest = tf.clip_by_value(longest, least, most)
        words = self.target_tokenizer.surfaces(text)
        return cut_or_pad(ids, longest), cut_or_pad(words, longest)

    def _spelled(self, ids, words, source_ids, source_words):
        """Give words that are copied the ids that they have in the source."""
        if not self.model.source_ids:
            return ids
        size = self.model.target_vocabulary_size
        source_ids = _first(source_ids)
        return spell_target(ids, words, source_ids, source_words, size)

    def _generate(self, ids, search, prefix, attends):
        """Call the model, with tensors of text on both sides."""
        if self._whole:
            return search_words(self.model, ids, search, prefix, attends)
        if backend.has_text:
            return self.model.generate(ids, search, prefix, attends)
        prefix = None if prefix is None else np.asarray(prefix)
        ids = _as_array(ids)
        found = self.model.generate(ids, search, prefix, attends)
        return Generation(
            *(x if x is None else ops.convert_to_numpy(x) for x in found)
        )

    def _write(self, ids, words, begun, found):
        """Turn ids into text.

        Args:
            ids: The source, `(B, Tv)`; `None` of features.
            words: Its words `(B, Tv)`, or `None`.
            begun: The words that translations begin with, `(B, P)`, or `None`.
                Unknown ones are written as they are.
            found: The `Generation` of the translations.

        Returns:
            The outputs of `align`, by their names.
        """
        tokens, weights = found.tokens, found.weights
        targets = self.target_tokenizer.tokens(tokens)
        sources = unknown = None
        if ids is not None:
            ids = _first(ids)
            sources = self.source_tokenizer.tokens(ids)
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
            "translations": tf.reshape(texts, tf.shape(found.scores)),
            "target_tokens": targets,
        }
        if sources is not None:
            answer["source_tokens"] = sources
        numbers = {
            "scores": found.scores,
            "token_scores": found.token_scores,
            "attention": weights,
        }
        for name, x in numbers.items():
            if x is not None:
                answer[name] = tf.cast(x, tf.float32)
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
        best = tf.argmax(weights * real, axis=-1)
        return tf.gather(words, best, batch_dims=1)


def source_specs(model: AbstractModel) -> tuple:
    """Describe the features that a model reads, and their mask.

    Args:
        model: A model that reads features.

    Returns:
        The spec of `source`, and that of `source_mask` unless it is an image.
    """
    spec = model.source_spec
    source = tf.TensorSpec(spec.shape, spec.dtype, name="source")
    if len(spec.shape) != 3:
        return (source,)
    return source, tf.TensorSpec(spec.shape[:2], tf.bool, name="source_mask")


def _as_array(source):
    """Turn a source into an array, unless it carries a mask."""
    return source if carried_mask(source) is not None else np.asarray(source)


# TensorFlow counts how often code is traced, and warns of functions that are
# traced once each as if one were traced many times. A `partial` has no code.


def _traced(function, *signature):
    return tf.function(partial(function), signature, autograph=False)


def _retraced(function):
    own = partial(function)
    return tf.function(own, autograph=False, reduce_retracing=True)


def _first(ids):
    """Return the ids `(B, Tv)` of the first source, of `(B, Tv, M)`."""
    return ids if len(ids.shape) == 2 else ids[..., 0]


def _first_word(words, others):
    """Take each word, or where it is empty the other one."""
    return words if others is None else tf.where(words == "", others, words)


def _rows(x):
    """Turn `(B, N, T)` into `(B * N, T)`."""
    return tf.reshape(x, (-1, x.shape[-1]))
