"""The steps of subword tokenizers in ONNX, with `onnxruntime-extensions`."""

import json
from functools import cache
from functools import reduce

import numpy as np

from keras_attention.export.onnx_steps import FIRST
from keras_attention.export.onnx_steps import AbstractOnnxForm
from keras_attention.export.onnx_steps import OnnxPieces
from keras_attention.export.onnx_steps import OnnxText
from keras_attention.export.onnx_steps import letters_of_unicode
from keras_attention.export.onnx_steps import onnx_form
from keras_attention.export.onnx_strings import NO_CHARACTER
from keras_attention.export.onnx_strings import NUL
from keras_attention.export.onnx_strings import strings
from keras_attention.steps.pieces import INNER_JOINER
from keras_attention.steps.pieces import LONGEST_WORD
from keras_attention.steps.pieces import NormalizeWords
from keras_attention.steps.pieces import SentencePieces
from keras_attention.steps.pieces import WordPieces
from keras_attention.steps.primitives import PAD
from keras_attention.steps.primitives import UNKNOWN

NO_BYTES = NO_CHARACTER.encode()
NO_BYTE = 256  # a piece of text that is not a single byte
BEHIND = range(0x80, 0xC0)  # what follows the first byte of a character
SECOND = {  # which of them follow some first bytes
    0xE0: range(0xA0, 0xC0),
    0xED: range(0x80, 0xA0),
    0xF0: range(0x90, 0xC0),
    0xF4: range(0x80, 0x90),
}
LENGTHS = np.zeros(NO_BYTE + 1, "int64")  # of characters, by their first byte
LENGTHS[:0x80] = LENGTHS[NO_BYTE] = 1
LENGTHS[0xC2:0xE0], LENGTHS[0xE0:0xF0], LENGTHS[0xF0:0xF5] = 2, 3, 4
LONGEST = 4


class SentencePiecesForm(AbstractOnnxForm):
    """`SentencePieces` in ONNX."""

    def read(self, add, value):
        own, _, texts = self.step.pieces
        # No sampling, and neither start nor end nor reverse.
        options = [0], np.float32([0]), *3 * [[False]]
        pieces, splits = add(
            *("SentencepieceTokenizer", value.without_nul(), *options),
            outputs=2,
            model=self.step.model,
        )
        ids = add("Gather", np.array(own, "int64"), pieces)
        ids = _rows(add, ids, splits)
        if NUL.encode() in texts:  # and any byte
            spelled = [FIRST + texts.index(bytes([x])) for x in NO_BYTES]
            nul = FIRST + texts.index(NUL.encode())
            ids = _replaced(add, ids, spelled, nul)
        return OnnxPieces(ids, None)

    def write(self, add, value):
        ids, unknown = value
        if self.step.added_space.endswith("$"):
            raise ValueError(
                "Text in ONNX needs a `target_tokenizer` with spaces at the "
                "beginning of pieces. Received: a SentencePieceTokenizer whose "
                "model has `treat_whitespace_as_suffix`. Train it without."
            )
        texts = [b"", b"", b"", b"", *self.step.pieces[2]]
        codes = [x[0] if len(x) == 1 else NO_BYTE for x in texts]
        codes = add("Gather", codes, ids)
        texts = add("Gather", strings(*texts), ids)
        texts = add("Where", add("Equal", ids, UNKNOWN), unknown, texts)
        text = add.joined(_mended(add, texts, codes))
        if not self.step.added_space:
            return text
        parts, count = add(
            "StringSplit", text, outputs=2, delimiter=" ", maxsplit=1
        )
        edge = add(
            "Concat", add("Shape", text), [2], axis=0
        )  # or there is none
        parts = add("Concat", parts, add("Expand", strings(""), edge), axis=1)
        first, rest = (add("Gather", parts, i, axis=1) for i in range(2))
        begins = add("Equal", first, strings(""))
        begins = add("And", begins, add("Less", 1, count))
        return add("Where", begins, rest, text)


def _replaced(add, ids, run, other):
    """Replace the first id of each run, and drop the rest of the run."""
    following = _shifted(add, ids, PAD)
    found = [add("Equal", following(i), x) for i, x in enumerate(run)]
    begins = reduce(lambda x, y: add("And", x, y), found)
    before = _shifted(add, add("Cast", begins, to=add.int64), 0)
    inside = reduce(lambda x, y: add("Add", x, y), map(before, (-1, -2, -3)))
    ids = add("Where", begins, other, ids)
    return add("Where", add("Less", 0, inside), PAD, ids)


def _mended(add, texts, codes):
    """Replace bytes that are not UTF-8 by U+FFFD, like `mend`.

    Args:
        add: Where nodes are added.
        texts: `(B, T)`, each a byte or valid UTF-8.
        codes: The bytes, and `NO_BYTE`.

    Returns:
        Strings `(B, T)`.
    """
    lengths = add("Gather", LENGTHS, codes)
    pairs = np.zeros((NO_BYTE + 1, NO_BYTE + 1), "int64")
    for first in np.flatnonzero(LENGTHS > 1):
        pairs[first, [*SECOND.get(first, BEHIND)]] = 1
    behind = np.isin(np.arange(NO_BYTE + 1), BEHIND).astype("int64")
    following = _shifted(add, codes, NO_BYTE)
    place = add("Add", add("Mul", codes, NO_BYTE + 1), following(1))
    goes_on = add("Gather", pairs.ravel(), place)
    matched = add("Add", 1, goes_on)  # bytes of a character, from each on
    for i in range(2, LONGEST):
        is_long = add("Cast", add("Less", i, lengths), to=add.int64)
        goes_on = add("Mul", goes_on, is_long)
        goes_on = add("Mul", goes_on, add("Gather", behind, following(i)))
        matched = add("Add", matched, goes_on)
    whole = add("Equal", matched, lengths)
    is_inside, is_kept = add("Less", lengths, 0), whole  # of a character
    matched = _shifted(add, matched, 0)
    before = _shifted(add, add("Cast", whole, to=add.int64), 0)
    for i in range(1, LONGEST):
        reaches = add("Less", i, matched(-i))
        is_inside = add("Or", is_inside, reaches)
        is_whole = add("Equal", before(-i), 1)
        is_kept = add("Or", is_kept, add("And", reaches, is_whole))
    other = add("Where", is_inside, strings(""), strings("\ufffd"))
    return add("Where", is_kept, texts, other)


def _shifted(add, values, edge):
    """Return a function that shifts values `(B, T)` to the left."""
    most = LONGEST - 1
    values = add("Pad", values, [0, most, 0, most], np.int64(edge))

    def shifted(places):
        end = add("Sub", add("Shape", values, start=1), most - places)
        return add("Slice", values, [most + places], end, [1])

    return shifted


class NormalizeWordsForm(AbstractOnnxForm):
    """`NormalizeWords` in ONNX."""

    def read(self, add, value):
        table = _changed_letters(self.step)
        return OnnxText(add, letters=add.mapped(value.letters, table))


@cache
def _changed_letters(step):
    pairs = ((x, step.read(x)) for x in letters_of_unicode())
    return {x: y for x, y in pairs if x != y}


class WordPiecesForm(AbstractOnnxForm):
    """`WordPieces` in ONNX."""

    def read(self, add, value):
        names = self.step.names
        table = {name: i for i, name in enumerate(names)}
        flat = add("Reshape", value, [-1])
        pieces, splits, _, _ = add(
            *("WordpieceTokenizer", flat),
            add("Range", 0, add("Add", add("Size", value), 1), 1),
            outputs=4,
            vocab=json.dumps(table),
            suffix_indicator=INNER_JOINER,
            unknown_token=names[UNKNOWN],
            max_input_chars_per_word=LONGEST_WORD,
        )
        pieces = add.look_up(add.typed(pieces), table, UNKNOWN)
        ids = _rows(add, pieces, splits)  # (words, pieces of each)
        is_unknown = add("Cast", add("Equal", ids, UNKNOWN), to=add.int64)
        is_unknown = add("Less", 0, add("ReduceSum", is_unknown, [1]))
        once = add("Where", add.first_column(ids), UNKNOWN, PAD)
        ids = add("Where", is_unknown, once, ids)  # a word as a whole
        flat = add.column(flat)
        ids = add("Where", add("Equal", flat, strings("")), PAD, ids)
        texts = [name.removeprefix(INNER_JOINER) for name in names]
        texts = add("Gather", strings(*texts), ids)
        texts = add("Where", add("Equal", ids, UNKNOWN), flat, texts)
        columns = (add("Shape", x, start=1) for x in (value, ids))
        rows = add("Shape", value, end=1)
        shape = add("Concat", rows, add("Mul", *columns), axis=0)
        return OnnxPieces(
            *(add("Reshape", x, shape, allowzero=1) for x in (ids, texts))
        )

    def write(self, add, value):
        ids, unknown = value
        names = self.step.names
        continues = np.array([name.startswith(INNER_JOINER) for name in names])
        texts = [name.removeprefix(INNER_JOINER) for name in names]
        texts = add("Gather", strings("", "", "", "", *texts[FIRST:]), ids)
        texts = add("Where", add("Equal", ids, UNKNOWN), unknown, texts)
        joins = add("Or", add("Gather", continues, ids), add("Equal", ids, PAD))
        joins = add("Or", joins, add.first_column(ids))
        text = add.spaced(texts, joins, " ")
        return add.stripped(text) if isinstance(unknown, str) else text


def _rows(add, values, splits):
    """Convert flat values to `(B, T)`, where 0 means no value."""
    starts, ends = (
        add("Slice", splits, *x) for x in (([0], [-1]), ([1], [2**31]))
    )
    places, _ = add.grid(add("Sub", ends, starts))
    return add.pick(values, places, [PAD])


onnx_form.register(SentencePieces, SentencePiecesForm)
onnx_form.register(NormalizeWords, NormalizeWordsForm)
onnx_form.register(WordPieces, WordPiecesForm)
