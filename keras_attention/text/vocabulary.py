"""What tokenizers with a list of tokens share: look-up and counting."""

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
    """Splits text into tokens and looks up each of them in a list.

    A subclass has `steps`. Training counts the pieces that they look up.

    Args:
        vocabulary: The tokens with the ids 4, 5, ... in this order.
        normalization: A form of Unicode, `"nfc"`, `"nfd"`, `"nfkc"` or
            `"nfkd"`, or `"identity"`. Defaults to `"nfc"`.
        lowercase: Whether to put text into lower case. Defaults to `False`.

    Raises:
        ValueError: If a token is empty, is not a string, appears twice, or is
            the name of a special id.
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
        """Build a tokenizer from the most frequent tokens of a text.

        Of tokens that are equally frequent, the one that sorts first wins, so
        the same text gives the same ids.

        Args:
            sentences_or_files: Sentences, or the `Path`s of files with one
                sentence a line, plain or gzip.
            vocabulary_size: The maximum number of ids, with the four special
                ones. A text with fewer tokens gives fewer ids.
            min_frequency: How often a token must occur to get an id. Defaults
                to `1`.
            normalization: A form of Unicode, `"nfc"`, `"nfd"`, `"nfkc"` or
                `"nfkd"`, or `"identity"`. Defaults to `"nfc"`.
            lowercase: Whether to put text into lower case. Defaults to
                `False`.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no token, no room for one, or an item that
                is neither a sentence nor a `Path`.
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
    """List the most frequent tokens of a text.

    Args:
        untrained: A tokenizer without vocabulary, which splits.
        sentences_or_files: As of `train`.
        vocabulary_size: The maximum number of ids, with the four special
            ones, or `None`.
        min_frequency: How often a token must occur. Defaults to `1`.

    Returns:
        The tokens. Of equally frequent ones, the one that sorts first.

    Raises:
        ValueError: If there is no token, or no room for one.
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
            f"min_frequency={min_frequency} times. Give more sentences, or "
            "lower `min_frequency`."
        )
    return tokens[:room]


def check_vocabulary(vocabulary: Iterable[str], class_name: str) -> list[str]:
    """List the tokens of a vocabulary, or name one that cannot be in it.

    Args:
        vocabulary: What the user gave.
        class_name: The tokenizer that needs it.

    Returns:
        The tokens, in their order.

    Raises:
        ValueError: If a token is empty, is not a string, appears twice, or is
            the name of a special id.
    """
    one = isinstance(vocabulary, str | Mapping | Set)  # whose ids are unclear
    one = one or not isinstance(vocabulary, Iterable)
    tokens = [vocabulary] if one else [*vocabulary]
    known = {*SPECIAL_NAMES}
    for token in tokens:
        if one or not isinstance(token, str) or token in known:
            raise ValueError(
                f"{class_name} needs a `vocabulary` of different strings, "
                "without the empty one and the names of special ids. Received: "
                f"vocabulary with {token!r}. Give a list that names every "
                "token once."
            )
        if any("\ud800" <= x <= "\udfff" for x in token):
            raise ValueError(
                f"{class_name} needs a `vocabulary` of Unicode text. Received: "
                f"vocabulary with {token!r}, half of a pair of UTF-16. Leave "
                "it out, or read the file it is from as UTF-8."
            )
        known.add(token)
    return tokens


def warn_of_lost(
    tokenizer: AbstractTokenizer, tokens: list[str], cleaning: AbstractStep
):
    """Warn of the first token that cleaning changes: no text has it then.

    Args:
        tokenizer: What cleans text.
        tokens: Its vocabulary.
        cleaning: The step that does.
    """
    pairs = ((token, cleaning.read(token)) for token in tokens)
    changed = next((x for x in pairs if x[0] != x[1]), None)
    if changed is not None:
        token, clean = changed
        warnings.warn(
            f"{type(tokenizer).__name__} never reads {token!r}: text is "
            f"cleaned first, and then has {clean!r}. Received: vocabulary with "
            f"{token!r}, normalization={tokenizer.normalization!r}, "
            f"lowercase={tokenizer.lowercase}. Give tokens as they are then.",
            stacklevel=3,
        )


def check_no_space(tokens: list[str], spaces: str, class_name: str):
    r"""Raise a `ValueError` if a token has white space, where text is split.

    Args:
        tokens: The vocabulary.
        spaces: The characters at which text is split, as in a bracket of a
            regular expression of RE2, such as `r"\s"`.
        class_name: The tokenizer that needs it.
    """
    space = compiled(f"[{spaces}]")
    found = [token for token in tokens if space.search(token)]
    if found:
        raise ValueError(
            f"{class_name} splits text at white space, so it needs a "
            "`vocabulary` whose entries have none. Received: vocabulary with "
            f"{found[0]!r}. To learn from sentences, call "
            f"`{class_name}.train(sentences, vocabulary_size)`."
        )
