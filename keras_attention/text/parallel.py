"""Several tokenizers for one source, used by ensembles."""

import json
from collections.abc import Iterable
from typing import Self

import keras
import numpy as np

from keras_attention.checks import check_object
from keras_attention.steps.primitives import AbstractStep
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.base import checked_strings
from keras_attention.text.base import is_tensor
from keras_attention.text.sentences import as_texts


@keras.saving.register_keras_serializable(package="keras_attention")
class ParallelTokenizer(AbstractTokenizer):
    """Tokenizes each text with several tokenizers.

    A `ParallelTokenizer` lets each member of an `Ensemble` use its own source
    tokenizer. A `Translator` creates a `ParallelTokenizer` if you pass a list
    of source tokenizers.

    `tokenize` returns ids `(B, T, M)`, where `[..., m]` are the ids of
    tokenizer `m`, padded with zeros. All other methods use the first tokenizer,
    for example to copy words.

    Args:
        tokenizers: A list of `M` tokenizers.

    Raises:
        ValueError: If the list is empty, or an item is not a tokenizer or is a
            `ParallelTokenizer`.

    Example:

    >>> from keras_attention.text import CharacterTokenizer, ParallelTokenizer
    >>> tokenizer = ParallelTokenizer(
    ...     [CharacterTokenizer("ab"), CharacterTokenizer("cba")]
    ... )
    >>> tokenizer.tokenize(["ab"]).tolist()
    [[[2, 2], [4, 6], [5, 5], [3, 3]]]
    """

    def __init__(self, tokenizers: Iterable[AbstractTokenizer]):
        self.tokenizers = list(tokenizers)
        way_out = "Pass one tokenizer for each model that reads the source."
        for number, part in enumerate(self.tokenizers):
            name = f"source_tokenizer[{number}]"
            check_object(name, part, AbstractTokenizer, way_out)
        several = [isinstance(x, ParallelTokenizer) for x in self.tokenizers]
        if any(several) or not several:
            raise ValueError(
                "`source_tokenizer` must be a tokenizer, or a list of "
                "tokenizers that contains no ParallelTokenizer. "
                f"Received: {tokenizers!r}. {way_out}"
            )
        self.first = self.tokenizers[0]
        super().__init__(self.first.vocabulary, "identity")
        self.unknown_text = self.first.unknown_text

    @property
    def parts(self) -> list[AbstractTokenizer]:
        """The tokenizers, in the order of the ids of `tokenize`."""
        return list(self.tokenizers)

    def tokenize(self, text, max_length: int | None = None):
        """Convert strings to ids.

        Args:
            text: Strings `(B,)`: a tensor, a list or an array.
            max_length: Maximum length of a row for each tokenizer. Defaults to
                `None`, which means no limit.

        Returns:
            Ids `(B, T, M)` int32.

        Raises:
            ValueError: As in `tokenize` of each tokenizer.
        """
        if is_tensor(checked_strings(text)):
            return self._form.tokenize(text, max_length)
        texts = as_texts("text", text)
        columns = [x.tokenize(texts, max_length) for x in self.tokenizers]
        return stacked(columns)

    @property
    def steps(self) -> list[AbstractStep]:
        """The steps of the first tokenizer."""
        return self.first.steps

    def extended(self, texts):
        raise ValueError(
            "ParallelTokenizer cannot be extended, because each model that "
            "reads the source has a tokenizer and embeddings of its own. "
            f"Received: {len(self.tokenizers)} tokenizers. Extend each "
            "translator with `Translator.extended`, and combine them again."
        )

    def get_config(self) -> dict:
        parts = [json.loads(x.to_json()) for x in self.tokenizers]
        return {"tokenizers": parts}

    @classmethod
    def from_config(cls, config: dict) -> Self:
        parts = map(json.dumps, config["tokenizers"])
        return cls(map(AbstractTokenizer.from_json, parts))


def stacked(columns: list[np.ndarray]) -> np.ndarray:
    """Stack the ids of several tokenizers, padded with zeros.

    Args:
        columns: `(B, T)` for each of `M` tokenizers.

    Returns:
        `(B, T, M)`.
    """
    longest = max(x.shape[1] for x in columns)
    return np.stack(
        [np.pad(x, [(0, 0), (0, longest - x.shape[1])]) for x in columns],
        axis=-1,
    )
