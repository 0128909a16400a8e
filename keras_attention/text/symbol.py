"""A tokenizer with one id per whitespace-separated symbol."""

from collections.abc import Iterable
from pathlib import Path
from typing import Self

import keras

from keras_attention.steps.primitives import ASCII_SPACES
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Join
from keras_attention.steps.primitives import LookUp
from keras_attention.steps.primitives import Split
from keras_attention.text.vocabulary import AbstractVocabularyTokenizer
from keras_attention.text.vocabulary import check_no_space
from keras_attention.text.vocabulary import frequent_tokens


@keras.saving.register_keras_serializable(package="keras_attention")
class SymbolTokenizer(AbstractVocabularyTokenizer):
    """Assigns an id to every symbol between spaces, without changing it.

    Symbols can be phonemes, tags or other codes: "tʰ", "˧˧" and "V;PST" are one
    symbol each. Text is not normalized, lowercased or split further. Therefore,
    decoding restores a text exactly if all of its symbols are known and
    separated by single spaces. Only ASCII whitespace separates symbols; other
    spaces, such as U+00A0, are part of a symbol.

    Args:
        vocabulary: Symbols, with the ids 4, 5, ... in this order.

    Raises:
        ValueError: If an entry of `vocabulary` contains whitespace, is empty,
            is not a string, is a duplicate, or is the name of a special id.

    Example:

    >>> from keras_attention.text import SymbolTokenizer
    >>> tokenizer = SymbolTokenizer.train(["tʰ a ˧˧", "a n"])
    >>> tokenizer.vocabulary
    ['a', 'n', 'tʰ', '˧˧']
    >>> ids = tokenizer.tokenize(["n a ˧˧ k"])
    >>> ids.tolist()
    [[2, 5, 4, 7, 1, 3]]
    >>> tokenizer.detokenize(ids)[0]
    'n a ˧˧ <unk>'
    """

    def __init__(self, vocabulary: Iterable[str]):
        super().__init__(vocabulary, normalization="identity")
        check_no_space(self.vocabulary, ASCII_SPACES, type(self).__name__)

    @property
    def steps(self) -> list[AbstractStep]:
        """The steps: split at whitespace, look up, join with spaces."""
        return [Split(), LookUp(self.vocabulary), Join(" ")]

    def get_config(self) -> dict:
        return {"vocabulary": self.vocabulary}

    @classmethod
    def train(
        cls,
        sentences_or_files: Iterable[str | Path],
        vocabulary_size: int | None = None,
    ) -> Self:
        """Create a tokenizer from the symbols of a text.

        Symbols are ordered by frequency; equally frequent symbols are sorted.

        Args:
            sentences_or_files: Sentences, or `Path` objects of files with one
                sentence per line, plain or gzip.
            vocabulary_size: Maximum number of ids, including the four special
                ids. Defaults to `None`, which includes all symbols.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there are no symbols, `vocabulary_size` is too small,
                or an item is neither a sentence nor a `Path`.
        """
        return cls(
            frequent_tokens(cls([]), sentences_or_files, vocabulary_size)
        )
