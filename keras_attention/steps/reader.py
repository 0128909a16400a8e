"""Run the steps of a tokenizer in plain Python."""

import base64
import json
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import fields
from functools import cached_property

import numpy as np

from keras_attention.steps.pieces import NormalizeWords
from keras_attention.steps.pieces import SentencePieces
from keras_attention.steps.pieces import WordPieces
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Join
from keras_attention.steps.primitives import LookUp
from keras_attention.steps.primitives import Normalize
from keras_attention.steps.primitives import Pieces
from keras_attention.steps.primitives import Replace
from keras_attention.steps.primitives import Split
from keras_attention.steps.primitives import entries_of
from keras_attention.steps.primitives import read
from keras_attention.steps.primitives import value_in
from keras_attention.steps.primitives import write
from keras_attention.steps.tags import Tags

FRAME = 2  # start and end
KINDS = {
    kind.__name__: kind
    for kind in (
        *(Normalize, Replace, Split, LookUp, Join, Tags),
        *(SentencePieces, NormalizeWords, WordPieces),
    )
}


class AbstractReader:
    """Converts texts to ids and back with a list of steps.

    Args:
        names: The vocabulary entries, with the ids 4, 5, ... in this order.
    """

    unknown_text = SPECIAL_NAMES[UNKNOWN]

    def __init__(self, names: Iterable[str]):
        self._names = [*SPECIAL_NAMES, *names]

    @property
    @abstractmethod
    def steps(self) -> list[AbstractStep]:
        """The steps from text to ids, and back."""
        raise NotImplementedError

    @cached_property
    def _steps(self):
        return tuple(self.steps)

    @property
    def parts(self) -> list["AbstractReader"]:
        """The readers whose ids `tokenize` returns: this reader."""
        return [self]

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, including the four special ids."""
        return len(self._names)

    @property
    def vocabulary(self) -> list[str]:
        """The vocabulary entries, with the ids 4, 5, ... in this order."""
        return self._names[len(SPECIAL_NAMES) :]

    def read(self, text: str) -> Pieces:
        """Convert one text to ids.

        Args:
            text: The text.

        Returns:
            The ids without start and end, and the text of each.
        """
        return read(self._steps, text)

    def write(self, ids: list[int], unknown: list[str] | None = None) -> str:
        """Convert ids to one text.

        Args:
            ids: Generated ids. Padding, start ids, and everything after the
                first end id are ignored.
            unknown: The texts of unknown ids at the same positions, as in
                `detokenize`. Defaults to `None`.

        Returns:
            The text.
        """
        if END in ids:
            ids = ids[: ids.index(END)]
        size, name = len(self._names), self.unknown_text
        places = [i for i, x in enumerate(ids) if x not in (PAD, START)]
        ids = [ids[i] if 0 <= ids[i] < size else UNKNOWN for i in places]
        if unknown is None:
            texts = [name] * len(ids)
        else:
            texts = [unknown[i] or name for i in places]
        return write(self._steps, ids, texts)

    def tokenize(
        self, text: list[str], max_length: int | None = None
    ) -> np.ndarray:
        """Convert strings to ids.

        Args:
            text: The strings.
            max_length: Maximum length of a row, including start and end, or
                `None` for no limit.

        Returns:
            Ids `(B, T)` int32: start, text, end, and zeros as padding.
        """
        most = None if max_length is None else max_length - FRAME
        return padded([self.read(x).ids[:most] for x in text])

    def unknown(self, text: list[str]) -> list[list[str]]:
        """List the pieces that are not in the vocabulary.

        Args:
            text: The strings.

        Returns:
            For each string, the pieces that get the unknown id, in order.
        """
        return [
            [
                x
                for part in self.parts
                for x in unknown_pieces(part.read(string))
            ]
            for string in text
        ]

    def detokenize(
        self, ids: np.ndarray, unknown: np.ndarray | None = None
    ) -> np.ndarray:
        """Convert ids to strings.

        Args:
            ids: `(B, T)`.
            unknown: Strings `(B, T)`, the texts of unknown ids, or `None`.

        Returns:
            Strings `(B,)`.
        """
        rows = [None] * len(ids) if unknown is None else unknown
        pairs = zip(ids.tolist(), rows, strict=True)
        return string_array([self.write(*pair) for pair in pairs])

    def tokens(self, ids: np.ndarray) -> np.ndarray:
        """Return the token of each id.

        Args:
            ids: `(...)`.

        Returns:
            Strings of the same shape; ids outside the vocabulary are unknown.
        """
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        return self._name_array[np.where(inside, ids, UNKNOWN)]

    @cached_property
    def _name_array(self):
        return string_array(self._names)


class Reader(AbstractReader):
    """Runs the steps from the JSON of a tokenizer, without its class.

    Args:
        steps: The steps.
        unknown_text: The text of an unknown id.
    """

    def __init__(self, steps: list[AbstractStep], unknown_text: str):
        super().__init__(entries_of(steps))
        self._own, self.unknown_text = steps, unknown_text

    @property
    def steps(self) -> list[AbstractStep]:
        """The steps from the JSON."""
        return self._own


def read_json(text: str) -> Reader | None:
    """Create a reader from the JSON of a tokenizer, without its class.

    Args:
        text: The result of `AbstractTokenizer.to_json`.

    Returns:
        The reader, or `None` if only the class can read it: for a tokenizer
        from an earlier version, of several tokenizers, or with custom steps.
    """
    content = json.loads(text)
    steps = _steps_of(content.get("steps", [{}]), content["config"])
    return None if steps is None else Reader(steps, content["unknown_text"])


def _steps_of(described, config):
    """Create steps from the results of `describe`."""
    steps = []
    for each in described:
        kind = KINDS.get(each.get("step"))
        if kind is None:
            return None
        arguments = {
            field.name: each.get(field.name, value_in(config, field.name))
            for field in fields(kind)
        }
        if "model" in arguments:
            arguments["model"] = base64.b64decode(arguments["model"])
        if "steps" in arguments:
            arguments["steps"] = _steps_of(arguments["steps"], config)
            if arguments["steps"] is None:
                return None
        steps.append(kind(**arguments))
    return steps


def padded(rows: list[list[int]]) -> np.ndarray:
    """Frame rows of ids with start and end, and pad them with zeros.

    Args:
        rows: The ids of each row.

    Returns:
        `(B, T)` int32.
    """
    longest = max(map(len, rows), default=0)
    found = np.full((len(rows), longest + FRAME), PAD, "int32")
    found[:, 0] = START
    for row, ids in zip(found, rows, strict=True):
        row[1 : len(ids) + 1] = ids
        row[len(ids) + 1] = END
    return found


def string_array(strings: list[str]) -> np.ndarray:
    """Return strings `(N,)` as an array of Python strings.

    Args:
        strings: The strings.
    """
    found = np.empty(len(strings), object)
    found[:] = strings
    return found


def unknown_pieces(pieces: Pieces) -> list[str]:
    """List the texts of unknown ids.

    Args:
        pieces: A tokenized text.
    """
    texts = pieces.texts() if UNKNOWN in pieces.ids else pieces.ids
    pairs = zip(pieces.ids, texts, strict=True)
    return [text for id_, text in pairs if id_ == UNKNOWN]
