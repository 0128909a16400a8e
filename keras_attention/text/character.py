"""One id for every character."""

from collections.abc import Iterable

import keras

from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Join
from keras_attention.steps.primitives import LookUp
from keras_attention.steps.primitives import Split
from keras_attention.text.vocabulary import AbstractVocabularyTokenizer


@keras.saving.register_keras_serializable(package="keras_attention")
class CharacterTokenizer(AbstractVocabularyTokenizer):
    """Gives every Unicode character an id of its own.

    Text whose characters are all in the vocabulary comes back exactly, after
    normalization. Rows are about five times as long as rows of words, so this
    tokenizer is for small tasks: dates, numbers, spelling. An unknown
    character becomes one U+FFFD.

    Args:
        vocabulary: Characters, with the ids 4, 5, ... in this order.
        normalization: A form of Unicode, `"nfc"`, `"nfd"`, `"nfkc"` or
            `"nfkd"`, or `"identity"`. Defaults to `"nfc"`.
        lowercase: Whether to put text into lower case. Defaults to `False`.

    Raises:
        ValueError: If an entry of `vocabulary` is not one character.

    Example:

    >>> from keras_attention.text import CharacterTokenizer
    >>> tokenizer = CharacterTokenizer("abc")
    >>> tokenizer.tokenize(["cab", "a"]).tolist()
    [[2, 6, 4, 5, 3], [2, 4, 3, 0, 0]]
    >>> tokenizer.detokenize([[2, 6, 4, 5, 3]]).tolist()
    ['cab']
    """

    unknown_text = "\N{REPLACEMENT CHARACTER}"

    def __init__(
        self,
        vocabulary: Iterable[str],
        normalization: str = "nfc",
        lowercase: bool = False,
    ):
        if isinstance(vocabulary, str):
            vocabulary = [*vocabulary]
        super().__init__(vocabulary, normalization, lowercase)
        long = [entry for entry in self.vocabulary if len(entry) > 1]
        if long:
            raise ValueError(
                "CharacterTokenizer needs a `vocabulary` of single "
                f"characters. Received: vocabulary with {long[0]!r}. To take "
                "the characters of a text, call `CharacterTokenizer.train("
                "sentences, vocabulary_size)`."
            )

    @property
    def steps(self) -> list[AbstractStep]:
        """Normalize, split into characters, look up, join."""
        return [self.cleaning, Split(""), LookUp(self.vocabulary), Join()]
