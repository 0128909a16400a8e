"""Translate from text to text in one TensorFlow graph, for exports."""

import tensorflow as tf

from keras_attention.export.tensor_tokenizer import TensorTokenizer
from keras_attention.export.tensor_tokenizer import cut_or_pad
from keras_attention.layers import with_mask
from keras_attention.models import AbstractModel
from keras_attention.models.generation import search_words
from keras_attention.search import AbstractSearch
from keras_attention.search import RequiredPhrases
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.text import AbstractTokenizer
from keras_attention.translation import NO_ID
from keras_attention.translation.checks import check_attends

TEXT = tf.TensorSpec((None,), tf.string, name="text")
REQUIRED = tf.TensorSpec((None, None), tf.string, name="required")


class TranslationGraph:
    """Tokenizes, generates and detokenizes batches of any size in one graph.

    It does the same as a `Translator`, which processes text in Python.

    Args:
        model: An `AbstractModel`.
        source_tokenizer: Converts text to ids; `None` for a model that reads
            features.
        target_tokenizer: Converts ids to text.
        search: A search strategy.
        replace_unknown: Whether to replace an unknown token by the source
            word with the highest attention weight. Defaults to `False`.

    Attributes:
        inputs: Specs of the columns of a source. For features, these are
            `source (B, Tv, D)`, or images, and `source_mask (B, Tv)`, boolean,
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
        self.search = search
        self.replace_unknown = replace_unknown
        self.reads_words = replace_unknown or model.source_ids
        self.target_tokenizer = TensorTokenizer(target_tokenizer)
        self.source_tokenizer = None
        self.inputs = ()
        if source_tokenizer is None:
            self.inputs = source_specs(model)
        else:
            self.source_tokenizer = TensorTokenizer(source_tokenizer)

    def translate_text(self, text, max_source_length: int | None = None):
        """Translate text in one graph.

        Args:
            text: Strings `(B,)`.
            max_source_length: Maximum number of source ids, including start and
                end; longer sources are truncated. Defaults to `None`, which
                means no limit.

        Returns:
            `translations (B, N)` and `scores (B, N)`, float32.
        """
        return self._run(False, *self._read(text, max_source_length))

    def constrain_text(
        self, text, required, max_source_length: int | None = None
    ):
        """Translate text in one graph, with required phrases.

        Args:
            text: Strings `(B,)`.
            required: Strings `(B, C)`, padded with `""`.
            max_source_length: As in `translate_text`.

        Returns:
            As in `translate_text`. If no hypothesis contains all phrases, the
            score is `-inf` and the text is empty.
        """
        columns = self._read(text, max_source_length)
        return self._run(False, *columns, tf.fill(tf.shape(text), ""), required)

    def translate_source(self, *columns):
        """Translate features in one graph.

        Args:
            *columns: As in `inputs`; and optionally phrases `(B, C)`, padded
                with `""`, that each translation must contain.

        Returns:
            As in `translate_text`.
        """
        source, more = columns[: len(self.inputs)], columns[len(self.inputs) :]
        if more:
            more = tf.fill(tf.shape(source[0])[:1], ""), *more
        return self._run(False, *source, *more)

    def align_source(self, *columns):
        """Align features in one graph, like `translate_source`."""
        return self._run(True, *columns)

    def align_text(self, text, max_source_length: int | None = None):
        """Translate and align text in one graph, like `translate_text`.

        Args:
            text: Strings `(B,)`.
            max_source_length: As in `translate_text`.

        Returns:
            The outputs of `translate_text`, `source_tokens (B, Tv)`,
            `target_tokens (B, N, T)`, `token_scores (B, N, T)`, float32, and,
            if the model has attention, `attention (B, N, T, Tv)`.
        """
        return self._run(True, *self._read(text, max_source_length))

    def _masked(self, source, *others):
        """Attach the mask to features that have one."""
        if self.source_tokenizer is not None or len(self.inputs) == 1:
            return source, *others
        mask, *others = others
        return with_mask(source, mask), *others

    def _run(self, aligned, *columns):
        ids, *texts = self._masked(*columns)
        words = begun = None
        if self.reads_words:
            words, *texts = texts
        read = None if self.source_tokenizer is None else ids
        search, (prefix, *required) = self.search, texts or [None]
        if prefix is not None:
            prefix, begun = self._begin(prefix, read, words)
        if required:
            phrases = self._phrases(*required, read, words)
            search = RequiredPhrases(search, phrases)
        attends = aligned or self.replace_unknown
        found = search_words(self.model, ids, search, prefix, attends)
        answer = self._write(read, words, begun, found)
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
        """Convert the prefixes of translations to ids.

        Args:
            prefix: Strings `(B,)`.
            source_ids: `(B, Tv)`.
            source_words: Their words `(B, Tv)`, or `None`. If words are copied,
                words of the prefix can be copied, too.

        Returns:
            Ids and words `(B, P)`, with `P` at most `max_length`.
        """
        ids, words = self._pieces(prefix, self.search.max_length)
        return self._spelled(ids, words, source_ids, source_words), words

    def _phrases(self, required, source_ids, source_words):
        """Convert phrases `(B, C)` to ids `(B, C, L)`.

        A word that is in neither the vocabulary nor, if words are copied, the
        source gets an id that no hypothesis contains.
        """
        rows, count = tf.shape(required)[0], tf.shape(required)[1]
        found = self._pieces(tf.reshape(required, (-1,)), least=1)
        ids, words = (tf.reshape(x, (rows, -1)) for x in found)
        ids = self._spelled(ids, words, source_ids, source_words)
        ids = tf.where(ids == UNKNOWN, NO_ID, ids)
        return tf.reshape(ids, (rows, count, -1))

    def _pieces(self, text, most=NO_ID, least=0):
        """Return ids and words of a target, without start and end."""
        ids, texts = self.target_tokenizer.read(text)
        longest = tf.reduce_max(tf.pad(ids.row_lengths(), [[0, 1]]))
        longest = tf.clip_by_value(longest, least, most)
        return cut_or_pad(ids, longest), cut_or_pad(texts(), longest)

    def _spelled(self, ids, words, source_ids, source_words):
        """Replace the ids of copied words by their ids in the source."""
        if not self.model.source_ids:
            return ids
        size = self.model.target_vocabulary_size
        source_ids = _first(source_ids)
        return spell_target(ids, words, source_ids, source_words, size)

    def _write(self, ids, words, begun, found):
        """Convert ids to text.

        Args:
            ids: The source, `(B, Tv)`; `None` for features.
            words: Its words `(B, Tv)`, or `None`.
            begun: The words of prefixes, `(B, P)`, or `None`. Unknown words in
                them are kept unchanged.
            found: The `Generation` of the translations.

        Returns:
            The outputs of `align`, by name.
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
        """Return the source word for every token, as strings `(B, N, T)`."""
        check_attends(weights)
        real = tf.cast(words != "", weights.dtype)[:, None, None]
        best = tf.argmax(weights * real, axis=-1)
        return tf.gather(words, best, batch_dims=1)


def source_specs(model: AbstractModel) -> tuple:
    """Describe the features that a model reads, and their mask.

    Args:
        model: A model that reads features.

    Returns:
        The spec of `source` and, unless it is an image, of `source_mask`.
    """
    spec = model.source_spec
    source = tf.TensorSpec(spec.shape, spec.dtype, name="source")
    if len(spec.shape) != 3:
        return (source,)
    return source, tf.TensorSpec(spec.shape[:2], tf.bool, name="source_mask")


def _first(ids):
    """Return the ids `(B, Tv)` of the first tokenizer from `(B, Tv, M)`."""
    return ids if len(ids.shape) == 2 else ids[..., 0]


def _first_word(words, others):
    """Return each word, or the other word where it is empty."""
    return words if others is None else tf.where(words == "", others, words)


def _rows(x):
    """Reshape `(B, N, T)` to `(B * N, T)`."""
    return tf.reshape(x, (-1, x.shape[-1]))


def aligned_words(tokenizer: TensorTokenizer, text, ids):
    """Look up the piece of text of each id.

    Args:
        tokenizer: The tokenizer of the ids.
        text: Strings `(B,)`.
        ids: `(B, T)`: the result of `tokenizer.tokenize(text)`, possibly
            truncated or padded.

    Returns:
        Strings `(B, T)`, empty for start, end and padding.
    """
    columns = tf.shape(ids, tf.int64)[1]
    words = cut_or_pad(tokenizer.surfaces(text), columns - 1)
    words = tf.pad(words, [[0, 0], [1, 0]])  # the start comes first
    real = (ids != PAD) & (ids != START) & (ids != END)
    return tf.where(real, words, "")


def spell_source(ids, words, vocabulary_size: int):
    """Give every unknown word of a source its own id.

    Args:
        ids: `(B, Tv)` int32.
        words: Strings `(B, Tv)`, the word of each id.
        vocabulary_size: The vocabulary size `V`.

    Returns:
        `(B, Tv)` int32: `V + j` for an unknown word that first occurs in
        column `j` of its row, and `ids` for known words.
    """
    first = _first_columns(words)
    return tf.where(ids == UNKNOWN, vocabulary_size + first, ids)


def spell_target(ids, words, source_ids, source_words, vocabulary_size: int):
    """Replace unknown words of a target by their ids in the source.

    Args:
        ids: `(B, T)` int32.
        words: Strings `(B, T)`, the word of each id.
        source_ids: `(B, Tv)` int32, before or after `spell_source`.
        source_words: Strings `(B, Tv)`, the word of each source id.
        vocabulary_size: The vocabulary size.

    Returns:
        `(B, T)` int32. An unknown word that is not in the source stays
        unknown.
    """
    columns = tf.shape(source_ids)[1]
    both = tf.concat([source_words, words], axis=1)
    first = _first_columns(both)[:, columns:]
    there = (ids == UNKNOWN) & (first < columns)
    return tf.where(there, vocabulary_size + first, ids)


def copied_words(ids, source_words, vocabulary_size: int):
    """Look up the source words of ids beyond the vocabulary.

    Args:
        ids: `(B, ...)` int32.
        source_words: Strings `(B, Tv)`.
        vocabulary_size: The vocabulary size.

    Returns:
        Strings of the same shape as `ids`, empty for ids of the vocabulary.
    """
    columns = tf.shape(source_words)[1]
    place = tf.clip_by_value(ids - vocabulary_size, 0, columns - 1)
    words = tf.gather(source_words, place, batch_dims=1)
    return tf.where(ids >= vocabulary_size, words, "")


def _first_columns(words):
    """Find the column `(B, T)` where each word first occurs in its row."""
    shape = tf.shape(words)
    rows = tf.strings.as_string(tf.range(shape[0]))[:, None]
    flat = tf.reshape(rows + " " + words, (-1,))
    kinds, kind = tf.unique(flat)
    places = tf.range(tf.size(flat))
    first = tf.math.unsorted_segment_min(places, kind, tf.size(kinds))
    first = tf.gather(first, kind) % tf.maximum(shape[1], 1)
    return tf.reshape(first, shape)
