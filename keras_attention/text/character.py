"""A tokenizer with one id per character."""

from collections.abc import Iterable

import keras

from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Join
from keras_attention.steps.primitives import LookUp
from keras_attention.steps.primitives import Split
from keras_attention.text.vocabulary import AbstractVocabularyTokenizer


@keras.saving.register_keras_serializable(package="keras_attention")
class CharacterTokenizer(AbstractVocabularyTokenizer):
    """Assigns an id to every Unicode character.

    If all characters of a text are in the vocabulary, decoding restores the
    normalized text exactly. Sequences are about five times as long as sequences
    of words. Therefore, this tokenizer suits small tasks, such as dates,
    numbers and spelling. An unknown character is decoded as U+FFFD.

    Args:
        vocabulary: Characters, with the ids 4, 5, ... in this order.
        normalization: A Unicode normalization form: `"nfc"`, `"nfd"`,
            `"nfkc"`, `"nfkd"`, or `"identity"` for none. Defaults to `"nfc"`.
        lowercase: Whether to lowercase text. Defaults to `False`.

    Raises:
        ValueError: If an entry of `vocabulary` is not a single character.

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
                f"characters. Received: vocabulary with {long[0]!r}. To use "
                "the characters of a text, call `CharacterTokenizer.train("
                "sentences, vocabulary_size)`."
            )

    @property
    def steps(self) -> list[AbstractStep]:
        """The steps: normalize, split into characters, look up, join."""
        return [self.cleaning, Split(""), LookUp(self.vocabulary), Join()]
