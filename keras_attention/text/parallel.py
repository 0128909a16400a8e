"""Several tokenizers of one source, for models made of models."""

import json
from collections.abc import Iterable
from typing import Self

import keras
import numpy as np

from keras_attention.checks import check_object
from keras_attention.steps.primitives import AbstractStep
from keras_attention.text.base import AbstractTokenizer
from keras_attention.text.base import checked_strings
from keras_attention.text.sentences import as_texts
from keras_attention.text.tensors import is_tensor


@keras.saving.register_keras_serializable(package="keras_attention")
class ParallelTokenizer(AbstractTokenizer):
    """Turns each text into ids of several tokenizers, side by side.

    So the members of an `Ensemble` read a source each in its own pieces. A
    `Translator` that gets a list of source tokenizers makes one of these.

    `tokenize` gives ids `(B, T, M)`: those of tokenizer `m` are `[..., m]`,
    with zeros behind the shorter ones. In all else it is the first tokenizer,
    whose words are copied and named.

    Args:
        tokenizers: The tokenizers, `M` of them.

    Raises:
        ValueError: If there are none, or one is no tokenizer of a text.

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
        way_out = "Give one tokenizer for each model that reads the source."
        for number, part in enumerate(self.tokenizers):
            name = f"source_tokenizer[{number}]"
            check_object(name, part, AbstractTokenizer, way_out)
        several = [isinstance(x, ParallelTokenizer) for x in self.tokenizers]
        if any(several) or not several:
            raise ValueError(
                "`source_tokenizer` must be one or several tokenizers of a "
                f"text. Received: {tokenizers!r}. {way_out}"
            )
        self.first = self.tokenizers[0]
        super().__init__(self.first.vocabulary, "identity")
        self.unknown_text = self.first.unknown_text

    @property
    def parts(self) -> list[AbstractTokenizer]:
        """The tokenizers, as `tokenize` has their ids."""
        return list(self.tokenizers)

    def tokenize(self, text, max_length: int | None = None):
        """Turn strings into ids.

        Args:
            text: Strings `(B,)`: a tensor, a list or an array.
            max_length: The maximum length of a row, as of each tokenizer.
                Defaults to `None`, no limit.

        Returns:
            Ids `(B, T, M)` int32.

        Raises:
            ValueError: As of each tokenizer.
        """
        if is_tensor(checked_strings(text)):
            return self._form.tokenize(text, max_length)
        texts = as_texts("text", text)
        columns = [x.tokenize(texts, max_length) for x in self.tokenizers]
        return stacked(columns)

    @property
    def steps(self) -> list[AbstractStep]:
        """Those of the first tokenizer."""
        return self.first.steps

    def extended(self, texts):
        raise ValueError(
            "ParallelTokenizer cannot be extended, because each model that "
            "reads the source has a tokenizer and embeddings of its own. "
            f"Received: {len(self.tokenizers)} tokenizers. Extend each "
            "translator by `Translator.extended`, and join them again."
        )

    def get_config(self) -> dict:
        parts = [json.loads(x.to_json()) for x in self.tokenizers]
        return {"tokenizers": parts}

    @classmethod
    def from_config(cls, config: dict) -> Self:
        parts = map(json.dumps, config["tokenizers"])
        return cls(map(AbstractTokenizer.from_json, parts))


def stacked(columns: list[np.ndarray]) -> np.ndarray:
    """Stack the ids of several tokenizers, with zeros after shorter ones.

    Args:
        columns: `(B, T)` of each of `M` tokenizers.

    Returns:
        `(B, T, M)`.
    """
    longest = max(x.shape[1] for x in columns)
    return np.stack(
        [np.pad(x, [(0, 0), (0, longest - x.shape[1])]) for x in columns],
        axis=-1,
    )
