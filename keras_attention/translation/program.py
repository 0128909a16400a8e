"""Translate batches: tokenize in Python, generate with the model."""

import itertools
import sys
import warnings
from collections.abc import Iterator
from collections.abc import Sequence
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.backend import ops
from keras_attention.files import split_in_parts
from keras_attention.layers import with_mask
from keras_attention.models import AbstractModel
from keras_attention.search import AbstractSearch
from keras_attention.search import Generation
from keras_attention.search import RequiredPhrases
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.steps.reader import padded
from keras_attention.steps.reader import unknown_pieces
from keras_attention.text import AbstractTokenizer
from keras_attention.text import copied_ids
from keras_attention.text.parallel import stacked
from keras_attention.translation.checks import check_attends
from keras_attention.translation.result import Translation

BYTES_AT_ONCE = 2**20
BYTES_AN_ID = 32  # words are shorter
NO_ID = 2**30  # of what no vocabulary has, and so no text
NO_WORDS: list[str] = []


class Row(NamedTuple):
    """A tokenized source.

    Attributes:
        columns: Ids `(Tv,)`, or `(Tv, M)` with several tokenizers; or
            features and, unless they are an image, their mask.
        words: The source word of each id, `""` for start and end; empty if no
            source word can occur in a translation.
        count: The number of ids before truncation.
        unknown: Pieces that are not in the source vocabulary, except words
            that are copied; `None` for features.
    """

    columns: list[np.ndarray]
    words: list[str] = NO_WORDS
    count: int = 0
    unknown: list[str] | None = None


class TranslationProgram:
    """Tokenizes sources, generates hypotheses, and converts them to text.

    Args:
        model: An `AbstractModel`.
        source_tokenizer: Converts text to ids; `None` for a model that reads
            features.
        target_tokenizer: Converts ids to text.
        search: A search strategy.
        replace_unknown: Whether to replace an unknown token by the source
            word with the highest attention weight. Defaults to `False`.
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

    def read(self, text: str, max_length: int) -> Row:
        """Tokenize a sentence, and truncate it if it is too long.

        Args:
            text: The sentence.
            max_length: Maximum number of ids, including start and end.

        Returns:
            The `Row`.
        """
        found = [part.read(text) for part in self.source_tokenizer.parts]
        ids, words = [x.ids for x in found], NO_WORDS
        count = max(map(len, ids)) + 2
        most = max_length - 2
        if self.replace_unknown or self.model.source_ids:
            words = found[0].texts()
            if self.model.source_ids:
                ids[0] = self._copied(ids[0], words, ["", *words])
            words = ["", *words[:most], ""]
        others = found[1:] if self.model.source_ids else found
        unknown = [x for part in others for x in unknown_pieces(part)]
        columns = [padded([x[:most]])[0] for x in ids]
        if len(columns) > 1:
            columns = [stacked([x[None] for x in columns])[0]]
        return Row(columns, words, count, unknown)

    def _copied(self, ids, words, source_words):
        """Replace the ids of copied words by their ids in the source."""
        if not self.model.source_ids:
            return ids
        size = self.model.target_vocabulary_size
        return copied_ids(ids, words, source_words, size)

    def translate(
        self,
        batch: list[np.ndarray],
        rows: Sequence[Row],
        prefixes: list[str] | None = None,
        required: list[list[str]] | None = None,
        aligned: bool = False,
    ) -> Iterator[Translation]:
        """Translate a batch.

        Args:
            batch: The columns of its rows, padded.
            rows: The `Row` of each sentence.
            prefixes: The beginning of each translation. Defaults to `None`.
            required: Phrases that each translation must contain. Defaults to
                `None`.
            aligned: Whether to return tokens, token scores and attention.
                Defaults to `False`.

        Yields:
            One `Translation` per row.
        """
        search, prefix = self.search, None
        begun = [NO_WORDS] * len(rows)
        if prefixes is not None:
            prefix, begun = self._prefix(prefixes, rows)
        if required is not None:
            search = RequiredPhrases(search, self._phrases(required, rows))
        attends = aligned or self.replace_unknown
        found = self.model.generate(_source(batch), search, prefix, attends)
        found = Generation(
            *(x if x is None else ops.convert_to_numpy(x) for x in found)
        )
        if self.replace_unknown:
            check_attends(found.weights)
        width = batch[0].shape[1]
        for i, row in enumerate(rows):
            own = Generation(*(x if x is None else x[i] for x in found))
            if own.weights is not None and own.weights.shape[-1] == width:
                own = own._replace(
                    weights=own.weights[..., : len(row.columns[0])]
                )
            yield self._written(row, begun[i], own, aligned)

    def _prefix(self, prefixes, rows):
        """Convert prefixes to ids `(B, P)` and words."""
        most, ids, begun = self.search.max_length, [], []
        for text, row in zip(prefixes, rows, strict=True):
            own, words = self._target(text)
            ids.append(self._copied(own, words, row.words)[:most])
            begun.append(words)
        ids = keras.utils.pad_sequences(ids, padding="post")
        return (ids if ids.shape[1] else None), begun

    def _phrases(self, required, rows):
        """Convert phrases to ids `(B, C, L)`.

        A word that is in neither the vocabulary nor, if words are copied, the
        source gets an id that no hypothesis contains.
        """
        found = [
            [
                self._copied(*self._target(phrase), row.words)
                for phrase in phrases
            ]
            for phrases, row in zip(required, rows, strict=True)
        ]
        count = max(1, *map(len, found))
        longest = max([1, *(len(ids) for row in found for ids in row)])
        phrases = np.zeros((len(rows), count, longest), "int32")
        for i, row in enumerate(found):
            for j, ids in enumerate(row):
                phrases[i, j, : len(ids)] = ids
        return np.where(phrases == UNKNOWN, NO_ID, phrases)

    def _target(self, text):
        """Return ids and words of a target, without start and end."""
        found = self.target_tokenizer.read(text)
        return found.ids, found.texts()

    def _written(self, row, begun, found, aligned):
        """Convert the hypotheses of a row to text."""
        texts, named = [], []
        weights = [None] * len(found.tokens)
        if found.weights is not None:
            weights = found.weights
        for ids, own in zip(found.tokens, weights, strict=True):
            copied = self._copies(row, ids.tolist())
            words = self._unknown(row, begun, ids, copied, own)
            texts.append(self.target_tokenizer.write(ids.tolist(), words))
            if aligned:
                named.append(self._names(self.target_tokenizer, ids, copied))
        scores = found.scores.astype("float32").tolist()
        entry = {"texts": texts, "scores": scores}
        if aligned:
            entry["target_tokens"] = named
            numbers = {
                "token_scores": found.token_scores,
                "attention": found.weights,
            }
            for name, x in numbers.items():
                if x is not None:
                    pairs = zip(x.astype("float32"), named, strict=True)
                    entry[name] = [y[: len(tokens)] for y, tokens in pairs]
        if len(texts) == 1:
            entry = {name: column[0] for name, column in entry.items()}
        if aligned and self.source_tokenizer is not None:
            ids = row.columns[0]
            ids = ids if ids.ndim == 1 else ids[:, 0]
            copied = self._copies(row, ids.tolist())
            source = self._names(self.source_tokenizer, ids, copied)
            entry["source_tokens"] = source
        return Translation(**entry, unknown=row.unknown)

    def _copies(self, row, ids):
        """Return the source word that each id copies, or `""`."""
        if not self.model.source_ids:
            return None
        first, last = self.model.target_vocabulary_size, len(row.words) - 1
        return [
            row.words[min(x - first, last)] if x >= first else "" for x in ids
        ]

    def _unknown(self, row, begun, ids, copied, weights):
        """Return the text of each unknown id, `""` for known ids.

        It is the word of the prefix, else the copied word, else the source word
        with the highest attention weight.
        """
        choices = [begun] if begun else []
        if copied is not None:
            choices.append(copied)
        if self.replace_unknown:
            real = np.array([word != "" for word in row.words])
            best = np.argmax(weights * real, axis=-1)
            choices.append([row.words[place] for place in best])
        if not choices:
            return None
        choices.append([""] * len(ids))
        return [
            next(filter(None, words), "")
            for words in itertools.zip_longest(*choices, fillvalue="")
        ]

    def _names(self, tokenizer, ids, copied):
        """Return the tokens of ids, without padding."""
        names = tokenizer.tokens(ids).tolist()
        if copied is not None:
            pairs = zip(copied, names, strict=True)
            names = [word or name for word, name in pairs]
        return [name for name in names if name]

    def score(
        self, batch: list[np.ndarray], rows: Sequence[Row], texts: list[str]
    ) -> Iterator[Translation]:
        """Score existing translations with the model.

        Args:
            batch: As in `translate`.
            rows: As in `translate`.
            texts: The translations.

        Yields:
            For each row, a `Translation` with its text, score, target tokens
            and token scores.
        """
        ids, names = [], []
        for text, row in zip(texts, rows, strict=True):
            own, words = self._target(text)
            own = self._copied(own, words, row.words)
            ids.append(own)
            copied = [*words, ""] if self.model.source_ids else None
            own = np.array([*own, END])
            names.append(self._names(self.target_tokenizer, own, copied))
        found = self.model.score(_source(batch), padded(ids))
        pairs = map(ops.convert_to_numpy, found)
        for text, tokens, score, scores in zip(
            texts, names, *pairs, strict=True
        ):
            yield Translation(
                text,
                score.tolist(),
                target_tokens=tokens,
                token_scores=scores[: len(tokens)],
            )


def _source(batch):
    """Return the source of a batch, with a mask if features need one."""
    source, *mask = batch
    if not mask or np.all(mask):
        return source
    return with_mask(ops.convert_to_tensor(source), *mask)


def in_batches(
    rows: list[Row],
    prefixes: list[str] | None,
    batch_size: int,
    max_source_length: int,
    verbose: int | str,
) -> Iterator[tuple[list[int], list[np.ndarray]]]:
    """Yield batches of rows of similar length, shortest first.

    Args:
        rows: The rows of all sentences.
        prefixes: The beginning of each translation, or `None`.
        batch_size: Number of sentences per batch. Batches are smaller if
            prefixes are much longer than `max_source_length`.
        max_source_length: Maximum number of ids in a row.
        verbose: `1` for a progress bar, `0` for none; `"auto"` shows it on a
            terminal if there is more than one batch.

    Yields:
        The indices of the rows and their columns, as arrays.
    """
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].columns[0]))
    if verbose == "auto":
        verbose = int(len(order) > batch_size and has_terminal())
    bar = keras.utils.Progbar(len(order), verbose=verbose, unit_name="sentence")

    def size_of(i):
        return 0 if prefixes is None else len(prefixes[i])

    room = max(BYTES_AT_ONCE, batch_size * max_source_length * BYTES_AN_ID)
    for numbers in split_in_parts(order, size_of, batch_size, room):
        columns = zip(*(rows[i].columns for i in numbers), strict=True)
        yield (
            numbers,
            [
                keras.utils.pad_sequences(
                    column, dtype=column[0].dtype, padding="post"
                )
                for column in columns
            ],
        )
        bar.add(len(numbers))


def has_terminal() -> bool:
    """Return whether standard output is interactive, not a file."""
    return sys.stdout is not None and sys.stdout.isatty()


def warn_of_cuts(counts: list[int], longest: int):
    """Warn about truncated sentences.

    Args:
        counts: The number of ids of each sentence.
        longest: The maximum number of ids.
    """
    cut = [i for i, n in enumerate(counts) if n > longest]
    if cut:
        warnings.warn(
            f"Translator truncates {len(cut)} of {len(counts)} sentences to "
            f"max_source_length={longest} tokens. The first is "
            f"sentences[{cut[0]}] with {counts[cut[0]]} tokens. Split long "
            "sentences, or raise `max_source_length`.",
            stacklevel=4,
        )
