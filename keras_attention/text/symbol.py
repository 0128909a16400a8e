"""One id for every symbol between spaces."""

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
    """Gives every symbol between spaces an id, and leaves it as it is written.

    Sounds, tags and other codes are such symbols: "tʰ", "˧˧" and "V;PST" are
    one each. Nothing is normalized, put into lower case or split further. So a
    text of known symbols with single spaces between them comes back exactly.
    White space is that of ASCII; others, such as U+00A0, belong to a symbol.

    Args:
        vocabulary: Symbols, with the ids 4, 5, ... in this order.

    Raises:
        ValueError: If an entry of `vocabulary` has white space, is empty, is
            not a string, appears twice, or is the name of a special id.

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
        """Split at white space, look up, join by spaces."""
        return [Split(), LookUp(self.vocabulary), Join(" ")]

    def get_config(self) -> dict:
        return {"vocabulary": self.vocabulary}

    @classmethod
    def train(
        cls,
        sentences_or_files: Iterable[str | Path],
        vocabulary_size: int | None = None,
    ) -> Self:
        """Build a tokenizer from the symbols of a text.

        The most frequent ones come first; of equally frequent ones, the one
        that sorts first.

        Args:
            sentences_or_files: Sentences, or the `Path`s of files with one
                sentence a line, plain or gzip.
            vocabulary_size: The maximum number of ids, with the four special
                ones. Defaults to `None`, all symbols.

        Returns:
            The tokenizer.

        Raises:
            ValueError: If there is no symbol, no room for one, or an item that
                is neither a sentence nor a `Path`.
        """
        return cls(
            frequent_tokens(cls([]), sentences_or_files, vocabulary_size)
        )
