"""The steps of subword tokenizers: `sentencepiece` and WordPiece."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from functools import lru_cache

from keras_attention.extras import require
from keras_attention.steps.patterns import compiled
from keras_attention.steps.primitives import ASCII_SPACES
from keras_attention.steps.primitives import END
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import START
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.steps.primitives import AbstractStep
from keras_attention.steps.primitives import Pieces

NEEDED_BY = "SentencePieceTokenizer"
SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # how `sentencepiece` writes a space
LONGEST_WORD = 100_000  # bytes; a longer word is unknown
JOINER = "##"  # marks a piece that continues a word
CONTINUES = f"^{JOINER}(?=.)"
INNER_JOINER = "\x01"  # in no cleaned text, unlike "##"
# Characters that Unicode lets programs ignore.
IGNORED = {
    code
    for run in (
        "00AD 034F 061C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E "
        "2060-206F 3164 FE00-FE0F FEFF FFA0 FFF0-FFF8 1BCA0-1BCA3 "
        "1D173-1D17A E0000-E0FFF"
    ).split()
    for first, _, last in [run.partition("-")]
    for code in range(int(first, 16), int(last or first, 16) + 1)
}


@dataclass(frozen=True)
class SentencePieces(AbstractStep):
    """Splits a text with a `sentencepiece` model, and joins its pieces.

    Args:
        model: The content of the model file.
    """

    model: bytes

    @cached_property
    def _description(self):
        return parse_model(self.model)

    @cached_property
    def pieces(self) -> tuple[list[int], list[str], list[bytes]]:
        """The id of each piece, and the names and texts of ids from 4 on."""
        return own_pieces(self._description)

    @property
    def entries(self) -> list[str]:
        """The names of the ids from 4 on."""
        return self.pieces[1]

    @cached_property
    def added_space(self) -> str:
        """The pattern of the space that the model adds, or `""`."""
        spec = self._description.normalizer_spec
        if not (spec.add_dummy_prefix or spec.remove_extra_whitespaces):
            return ""
        suffix = self._description.trainer_spec.treat_whitespace_as_suffix
        return " $" if suffix else "^ "

    def read(self, value: str) -> Pieces:
        ids = self.pieces[0]
        found = load_processor(self.model).encode(value)
        return Pieces([ids[x] for x in found], lambda: self._surfaces(value))

    def _surfaces(self, text):
        forms = require(
            "sentencepiece.sentencepiece_pb2", "sentencepiece", NEEDED_BY
        )
        found = load_processor(self.model).encode(
            text, out_type="serialized_proto"
        )
        pieces = forms.SentencePieceText.FromString(found).pieces
        return [piece.surface.strip(" ") for piece in pieces]

    def write(self, value: tuple[list[int], list[str]]) -> str:
        texts, first = self.pieces[2], len(SPECIAL_NAMES)
        parts = [
            text.encode() if id_ == UNKNOWN else texts[id_ - first]
            for id_, text in zip(*value, strict=True)
        ]
        text = b"".join(parts).decode("utf-8", errors="replace")
        return compiled(self.added_space).sub("", text)


def own_pieces(model) -> tuple[list[int], list[str], list[bytes]]:
    """Return the package's ids, names and texts of the pieces of a model.

    Args:
        model: A `ModelProto` of `sentencepiece`.

    Returns:
        ids: The id of each piece, in model order.
        names: The names of the ids from 4 on.
        texts: The text of each of these ids.
    """
    spec = model.trainer_spec
    framing = {spec.pad_piece: PAD, spec.bos_piece: START, spec.eos_piece: END}
    ids, names, texts = [], [], []
    for piece in model.pieces:
        if piece.type == piece.UNKNOWN:
            ids.append(UNKNOWN)
        elif piece.type == piece.CONTROL and piece.piece in framing:
            ids.append(framing[piece.piece])
        else:
            ids.append(len(SPECIAL_NAMES) + len(names))
            names.append(piece.piece)
            texts.append(_text_of(piece))
    return ids, names, texts


def _text_of(piece):
    if piece.type == piece.CONTROL:
        return b""
    if piece.type == piece.BYTE:  # such as <0x0A>
        return bytes.fromhex(piece.piece[3:5])
    return piece.piece.replace(SPACE, " ").encode()


def parse_model(model: bytes):
    """Parse a `sentencepiece` model.

    Args:
        model: The content of a valid model file.

    Returns:
        A `ModelProto` of `sentencepiece`: `pieces`, `trainer_spec` and
        `normalizer_spec`.
    """
    forms = require(
        "sentencepiece.sentencepiece_model_pb2", "sentencepiece", NEEDED_BY
    )
    return forms.ModelProto.FromString(model)


@lru_cache(maxsize=2)  # of source and target
def load_processor(model: bytes):
    """Load a `sentencepiece` model, or return a cached one.

    Args:
        model: The content of a valid model file.

    Returns:
        A `SentencePieceProcessor`.
    """
    package = require("sentencepiece", "sentencepiece", NEEDED_BY)
    return package.SentencePieceProcessor(model_proto=model)


@dataclass(frozen=True)
class NormalizeWords(AbstractStep):
    """Normalizes text like BERT, with the only such operation in LiteRT.

    Control characters and invisible characters become spaces.

    Args:
        lowercase: Whether to lowercase text and remove accents. Defaults to
            `False`.
    """

    lowercase: bool = False

    def read(self, value: str) -> str:
        return value.translate(_table(self.lowercase))


@lru_cache
def _table(lowercase):
    return _Table(lowercase)


class _Table(dict):
    """A translation table for characters, filled on demand."""

    def __init__(self, lowercase):
        super().__init__()
        self.lowercase = lowercase

    def __missing__(self, code):
        self[code] = found = _normal(chr(code), self.lowercase)
        return found


def _normal(letter, lowercase):
    if lowercase:  # Unicode's `NFKC_Casefold`, then without accents
        text = unicodedata.normalize("NFD", letter)
        for _ in range(2):
            text = unicodedata.normalize("NFKC", text.casefold())
        text = "".join(x for x in text if ord(x) not in IGNORED)
        text = unicodedata.normalize("NFD", text)
        letter = "".join(x for x in text if unicodedata.category(x) != "Mn")
    return "".join(
        " " if unicodedata.category(x) in ("Cc", "Cf") else x for x in letter
    )


@dataclass(frozen=True)
class WordPieces(AbstractStep):
    """Splits words from the left into the longest pieces of a vocabulary.

    Args:
        vocabulary: The pieces, with the ids 4, 5, ... in this order. Pieces
            that continue a word begin with `"##"`.
    """

    vocabulary: Sequence[str]

    @property
    def entries(self) -> Sequence[str]:
        """The names of the ids from 4 on."""
        return self.vocabulary

    @cached_property
    def names(self) -> list[str]:
        """Names of all ids that no word of a text can be confused with.

        `INNER_JOINER` marks pieces that continue a word.
        """
        names = [f"{name} " for name in SPECIAL_NAMES]  # words have no space
        pieces = [re.sub(CONTINUES, INNER_JOINER, x) for x in self.vocabulary]
        return names + pieces

    @cached_property
    def _ids(self):
        ids = {name: id_ for id_, name in enumerate(self.names)}
        return ids, max(map(len, ids))

    def read(self, value: list[str]) -> Pieces:
        rows = [self._split(word) for word in value]
        return Pieces(
            [id_ for row in rows for id_, _ in row],
            lambda: [text for row in rows for _, text in row],
        )

    def _split(self, word):
        """Return ids and texts of the pieces of a word."""
        ids, longest = self._ids
        found, start, joiner = [], 0, ""
        whole = [(UNKNOWN, word)]
        if len(word.encode()) > LONGEST_WORD:
            return whole
        while start < len(word):
            for end in range(min(len(word), start + longest), start, -1):
                id_ = ids.get(joiner + word[start:end])
                if id_ is not None:
                    break
            else:
                return whole
            found.append((id_, word[start:end]))
            start, joiner = end, INNER_JOINER
        return found

    def write(self, value: tuple[list[int], list[str]]) -> str:
        parts = [
            f" {text}" if id_ == UNKNOWN else self._texts[id_]
            for id_, text in zip(*value, strict=True)
        ]
        return "".join(parts).strip(ASCII_SPACES)

    @cached_property
    def _texts(self):
        texts = (f" {name}" for name in self.names)
        return [text.removeprefix(f" {INNER_JOINER}") for text in texts]
