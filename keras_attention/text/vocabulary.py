"""The base of tokenizers with a list of tokens: lookup and counting."""

import warnings
from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Set
from pathlib import Path
from typing import Self

from keras_attention.checks import check_integer
from keras_attention.steps.patterns import compiled
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import AbstractStep
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.files import read_sentences
from keras_attention.text.sentences import as_texts
from keras_attention.text.training import check_room


class AbstractVocabularyTokenizer(AbstractTokenizer):
    """Splits text into tokens, and looks up each token in a vocabulary.

    A subclass defines `steps`. Training counts the pieces that they look up.

    Args:
        vocabulary: The tokens, with the ids 4, 5, ... in this order.
        normalization: A Unicode normalization form: `"nfc"`, `"nfd"`,
            `"nfkc"`, `"nfkd"`, or `"identity"` for none. Defaults to `"nfc"`.
        lowercase: Whether to lowercase text. Defaults to `False`.

    Raises:
        ValueError: If a token is empty, is not a string, is a duplicate, or
            is the name of a special id.
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        normalization: str = "nfc",
        lowercase: bool = False,
    ):
        vocabulary = check_vocabulary(vocabulary, type(self).__name__)
        super().__init__(vocabulary, normalization, lowercase)
        warn_of_lost(self, vocabulary, self.cleaning)

    def get_config(self) -> dict:
        return {"vocabulary": self.vocabulary, **super().get_config()}

    @classmethod
    def train(
        cls,
        sentences_or_files: Iterable[str | Path],
        vocabulary_size: int,
        min_frequency: int = 1,
        normalization: str = "nfc",
        lowercase: bool = False,
    ) -> Self:
        """Create a tokenizer from the most frequent tokens of a text.

        Equally frequent tokens are sorted, so the same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or `Path` objects of files with one
                sentence per line, plain or gzip.
            vocabulary_size: Maximum number of ids, including the four special
                ids. If the text has fewer tokens, there are fewer ids.
            min_frequency: Minimum frequency of a token that gets an id.
                Defaults to `1`.
            normalization: A Unicode normalization form: `"nfc"`, `"nfd"`,
                `"nfkc"`, `"nfkd"`, or `"identity"` for none. Defaults to
                `"nfc"`.
            lowercase: Whether to lowercase text. Defaults to `False`.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there are no tokens, `vocabulary_size` is too small,
                or an item is neither a sentence nor a `Path`.
        """
        check_integer("vocabulary_size", vocabulary_size)
        options = {"normalization": normalization, "lowercase": lowercase}
        tokens = frequent_tokens(
            *(cls([], **options), sentences_or_files),
            *(vocabulary_size, min_frequency),
        )
        return cls(tokens, **options)

    def extended(self, texts):
        unknown = self.unknown(as_texts("texts", texts))
        counts = Counter(token for row in unknown for token in row)
        new = sorted(counts, key=lambda token: (-counts[token], token))
        new = [token for token in new if token not in SPECIAL_NAMES]
        vocabulary = [*self.vocabulary, *new]
        return type(self)(**{**self.get_config(), "vocabulary": vocabulary})


def frequent_tokens(
    untrained: AbstractVocabularyTokenizer,
    sentences_or_files: Iterable[str | Path],
    vocabulary_size: int | None,
    min_frequency: int = 1,
) -> list[str]:
    """Return the most frequent tokens of a text.

    Args:
        untrained: A tokenizer without a vocabulary, which splits the text.
        sentences_or_files: As in `train`.
        vocabulary_size: Maximum number of ids, including the four special
            ids, or `None`.
        min_frequency: Minimum frequency of a token. Defaults to `1`.

    Returns:
        The tokens, ordered by frequency; equally frequent tokens are sorted.

    Raises:
        ValueError: If there are no tokens, or `vocabulary_size` is too small.
    """
    name, room = type(untrained).__name__, None
    if vocabulary_size is not None:
        room = check_room(name, vocabulary_size, 1, "a token")
    check_integer("min_frequency", min_frequency)
    counts = Counter()
    for sentence in read_sentences(sentences_or_files, name):
        counts.update(untrained.read(sentence).texts())
    for special in SPECIAL_NAMES:
        counts.pop(special, None)
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    tokens = [token for token in ranked if counts[token] >= min_frequency]
    if not tokens:
        raise ValueError(
            f"`{name}.train` needs text. Received: no token that occurs "
            f"min_frequency={min_frequency} times. Pass more sentences, or "
            "lower `min_frequency`."
        )
    return tokens[:room]


def check_vocabulary(vocabulary: Iterable[str], class_name: str) -> list[str]:
    """Return the tokens of a vocabulary, and reject invalid tokens.

    Args:
        vocabulary: The tokens that the user passed.
        class_name: The name of the tokenizer class, for error messages.

    Returns:
        The tokens, in order.

    Raises:
        ValueError: If a token is empty, is not a string, is a duplicate, or
            is the name of a special id.
    """
    one = isinstance(vocabulary, str | Mapping | Set)  # whose ids are unclear
    one = one or not isinstance(vocabulary, Iterable)
    tokens = [vocabulary] if one else [*vocabulary]
    known = {*SPECIAL_NAMES}
    for token in tokens:
        if one or not isinstance(token, str) or token in known:
            raise ValueError(
                f"{class_name} needs a `vocabulary` of unique strings, without "
                "the empty string and the names of special tokens. Received: "
                f"vocabulary with {token!r}. Pass a list with each token once."
            )
        if any("\ud800" <= x <= "\udfff" for x in token):
            raise ValueError(
                f"{class_name} needs a `vocabulary` of Unicode text. Received: "
                f"vocabulary with {token!r}, half of a UTF-16 surrogate pair. "
                "Leave it out, or read its file as UTF-8."
            )
        known.add(token)
    return tokens


def warn_of_lost(
    tokenizer: AbstractTokenizer, tokens: list[str], cleaning: AbstractStep
):
    """Warn about the first token that can never match normalized text.

    Args:
        tokenizer: The tokenizer that normalizes text.
        tokens: Its vocabulary.
        cleaning: The step that normalizes.
    """
    pairs = ((token, cleaning.read(token)) for token in tokens)
    changed = next((x for x in pairs if x[0] != x[1]), None)
    if changed is not None:
        token, clean = changed
        warnings.warn(
            f"{type(tokenizer).__name__} never uses {token!r}, because text "
            f"is normalized to {clean!r} first. Received: vocabulary with "
            f"{token!r}, normalization={tokenizer.normalization!r}, "
            f"lowercase={tokenizer.lowercase}. Pass normalized tokens.",
            stacklevel=3,
        )


def check_no_space(tokens: list[str], spaces: str, class_name: str):
    r"""Raise a `ValueError` if a token contains characters that split text.

    Args:
        tokens: The vocabulary.
        spaces: The characters at which text is split, as in a character class
            of an RE2 pattern, such as `r"\s"`.
        class_name: The name of the tokenizer class, for error messages.
    """
    space = compiled(f"[{spaces}]")
    found = [token for token in tokens if space.search(token)]
    if found:
        raise ValueError(
            f"{class_name} splits text at whitespace, so the entries of its "
            "`vocabulary` must not contain any. Received: vocabulary with "
            f"{found[0]!r}. To learn from sentences, call "
            f"`{class_name}.train(sentences, vocabulary_size)`."
        )
