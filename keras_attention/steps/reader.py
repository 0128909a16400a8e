"""Runs the steps of a tokenizer on texts and ids, in plain Python."""

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
from keras_attention.steps.primitives import held
from keras_attention.steps.primitives import read
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
    """Turns texts into ids and back, by steps.

    Args:
        names: The names of the ids from 4 on, in their order.
    """

    unknown_text = SPECIAL_NAMES[UNKNOWN]

    def __init__(self, names: Iterable[str]):
        self._names = [*SPECIAL_NAMES, *names]

    @property
    @abstractmethod
    def steps(self) -> list[AbstractStep]:
        """What is done with a text, and with ids."""
        raise NotImplementedError

    @cached_property
    def _steps(self):
        return tuple(self.steps)

    @property
    def parts(self) -> list["AbstractReader"]:
        """The readers whose ids `tokenize` returns: itself alone."""
        return [self]

    @property
    def vocabulary_size(self) -> int:
        """The number of ids, with the four special ones."""
        return len(self._names)

    @property
    def vocabulary(self) -> list[str]:
        """The names of the ids 4, 5, ..., in this order."""
        return self._names[len(SPECIAL_NAMES) :]

    def read(self, text: str) -> Pieces:
        """Turn one text into ids.

        Args:
            text: The text.

        Returns:
            The ids, without start and end, and what each stands for.
        """
        return read(self._steps, text)

    def write(self, ids: list[int], unknown: list[str] | None = None) -> str:
        """Turn ids into one text.

        Args:
            ids: As a model generates them. Pads and starts are dropped, and so
                is everything from the first end on.
            unknown: The text of an unknown id in the same place, as of
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
        """Turn strings into ids.

        Args:
            text: The strings.
            max_length: The maximum length of a row, with start and end, or
                `None` for no limit.

        Returns:
            Ids `(B, T)` int32: start, the text, end, zeros to the right.
        """
        most = None if max_length is None else max_length - FRAME
        return padded([self.read(x).ids[:most] for x in text])

    def unknown(self, text: list[str]) -> list[list[str]]:
        """List what is in no vocabulary.

        Args:
            text: The strings.

        Returns:
            For each text the pieces that get the unknown id, in their order.
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
        """Turn ids into strings.

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
        """Look up the name of every id.

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
    """Reads by the steps in the JSON of a tokenizer, without its class.

    Args:
        steps: The steps.
        unknown_text: What is written for an unknown id.
    """

    def __init__(self, steps: list[AbstractStep], unknown_text: str):
        super().__init__(entries_of(steps))
        self._own, self.unknown_text = steps, unknown_text

    @property
    def steps(self) -> list[AbstractStep]:
        """Those of the JSON."""
        return self._own


def read_json(text: str) -> Reader | None:
    """Read a tokenizer without its class.

    Args:
        text: What `AbstractTokenizer.to_json` wrote.

    Returns:
        The reader, or `None` if only its class knows what to do: it is of an
        earlier version, of several tokenizers, or has steps of its own.
    """
    content = json.loads(text)
    steps = _steps_of(content.get("steps", [{}]), content["config"])
    return None if steps is None else Reader(steps, content["unknown_text"])


def _steps_of(described, config):
    """Make steps again from what `describe` has said of them."""
    steps = []
    for each in described:
        kind = KINDS.get(each.get("step"))
        if kind is None:
            return None
        arguments = {
            field.name: each.get(field.name, held(config, field.name))
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
    """Put start and end around rows of ids, and zeros after them.

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
        pieces: A text that was read.
    """
    texts = pieces.texts() if UNKNOWN in pieces.ids else pieces.ids
    pairs = zip(pieces.ids, texts, strict=True)
    return [text for id_, text in pairs if id_ == UNKNOWN]
