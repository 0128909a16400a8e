"""How pieces of words are named, by `sentencepiece` and here.

In a `WordPieceTokenizer`, "##" marks a piece that continues a word.
"""

from keras_attention.text.base import END
from keras_attention.text.base import PAD
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import START
from keras_attention.text.base import UNKNOWN
from keras_attention.text.training import SPACE

JOINER = "##"
INNER_JOINER = "\x01"  # in no cleaned text, unlike "##"
UNKNOWN_NAME = SPECIAL_NAMES[UNKNOWN]


def own_pieces(model) -> tuple[list[int], list[str], list[bytes]]:
    """Return our ids of the pieces of a model, their names and their texts.

    Args:
        model: A `ModelProto` of `sentencepiece`.

    Returns:
        ids: Our id of each of its pieces, in their order.
        names: The names of our ids from 4 on.
        texts: How each of these is written.
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
            texts.append(_text(piece))
    return ids, names, texts


def _text(piece):
    if piece.type == piece.CONTROL:
        return b""
    if piece.type == piece.BYTE:  # such as <0x0A>
        return bytes.fromhex(piece.piece[3:5])
    return piece.piece.replace(SPACE, " ").encode()


def rename_learned(piece: str) -> str:
    """Rename a piece that `sentencepiece` has learned.

    Args:
        piece: Its name there, such as `"▁Hund"` or `"e"`.

    Returns:
        Its name here, such as `"Hund"` or `"##e"`.
    """
    if piece.startswith(SPACE):
        return piece.removeprefix(SPACE)
    return JOINER + piece


def inner_names(vocabulary: list[str]) -> list[str]:
    """List the names by which `tensorflow_text` knows all ids.

    Args:
        vocabulary: The pieces with the ids 4, 5, ... in this order.

    Returns:
        As many names, and four for the special ids. No word of a text is
        taken for one of these, nor has it what marks a continuing piece.
    """
    names = [f"{name} " for name in SPECIAL_NAMES]  # words have no space
    names[UNKNOWN] = UNKNOWN_NAME
    for piece in vocabulary:
        if _continues(piece):
            piece = INNER_JOINER + piece.removeprefix(JOINER)
        names.append(piece)
    return names


def first_names(vocabulary: list[str]) -> tuple[list[str], list[int]]:
    """Name the pieces as `inner_names`, and as they begin a text.

    Args:
        vocabulary: The pieces with the ids 4, 5, ... in this order.

    Returns:
        names: Those of all ids, and after them of what a continuing piece is
            at the beginning of a text, where it continues nothing.
        firsts: For each id, the one that stands for it at the beginning.
    """
    names = inner_names(vocabulary)
    ids = {name: i for i, name in enumerate(names)}
    firsts = [
        ids.setdefault(name.removeprefix(INNER_JOINER), len(ids))
        for name in names
    ]
    return list(ids), firsts


def written(piece: str) -> str:
    """Write a piece as it stands in a text.

    Args:
        piece: Its name.

    Returns:
        What follows "##", or a space and a piece that begins a word.
    """
    return piece.removeprefix(JOINER) if _continues(piece) else f" {piece}"


def _continues(piece):
    return piece.startswith(JOINER) and piece != JOINER
