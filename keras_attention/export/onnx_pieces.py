"""Tokenizers of pieces as nodes of ONNX, by `onnxruntime-extensions`."""

import json
from functools import reduce

import numpy as np

from keras_attention.export.onnx_names import FIRST
from keras_attention.export.onnx_names import all_characters
from keras_attention.export.onnx_names import first_column
from keras_attention.export.onnx_names import names_of
from keras_attention.export.onnx_names import spaced
from keras_attention.export.onnx_strings import NO_CHARACTER
from keras_attention.export.onnx_strings import NUL
from keras_attention.export.onnx_strings import strings
from keras_attention.text.base import PAD
from keras_attention.text.base import UNKNOWN
from keras_attention.text.wordpiece import INNER_JOINER
from keras_attention.text.wordpiece import LONGEST_WORD
from keras_attention.text.wordpiece import inner_names

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


def read_pieces(add, tokenizer, text):
    """Read pieces of `sentencepiece`, as `read` of `onnx_tokenizers`."""
    text = add.cleaned(text, tokenizer.normalization)
    # No sampling, and neither start nor end nor reverse.
    options = [0], np.float32([0]), *3 * [[False]]
    pieces, splits = add(
        *("SentencepieceTokenizer", text, *options),
        outputs=2,
        model=tokenizer.model,
    )
    ids = add("Gather", tokenizer.piece_ids.numpy().astype("int64"), pieces)
    ids = _rows(add, ids, splits)
    texts = [*tokenizer.texts.numpy()]
    if NUL.encode() in texts:  # and any byte
        spelled = [texts.index(bytes([x])) for x in NO_CHARACTER.encode()]
        ids = _replaced(add, ids, spelled, texts.index(NUL.encode()))
    return ids, None


def _replaced(add, ids, run, other):
    """Replace the first of each run of ids, and drop the rest of it."""
    following = _shifted(add, ids, PAD)
    found = [add("Equal", following(i), x) for i, x in enumerate(run)]
    begins = reduce(lambda x, y: add("And", x, y), found)
    before = _shifted(add, add("Cast", begins, to=add.int64), 0)
    inside = reduce(lambda x, y: add("Add", x, y), map(before, (-1, -2, -3)))
    ids = add("Where", begins, other, ids)
    return add("Where", add("Less", 0, inside), PAD, ids)


def write_pieces(add, tokenizer, ids, unknown):
    """Write pieces of `sentencepiece`, as `write` of `onnx_tokenizers`."""
    if tokenizer.added_space.endswith("$"):
        raise ValueError(
            "Text in ONNX needs a `target_tokenizer` whose pieces have their "
            "spaces in front. Received: a SentencePieceTokenizer of a model "
            "with `treat_whitespace_as_suffix`. Train it without."
        )
    texts = tokenizer.texts.numpy()
    codes = [x[0] if len(x) == 1 else NO_BYTE for x in texts]
    texts = names_of(add, tokenizer, ids, unknown, texts[FIRST:])
    text = add.joined(_mended(add, texts, add("Gather", codes, ids)))
    if not tokenizer.added_space:
        return text
    parts, count = add(
        "StringSplit", text, outputs=2, delimiter=" ", maxsplit=1
    )
    edge = add("Concat", add("Shape", text), [2], axis=0)  # there may be none
    parts = add("Concat", parts, add("Expand", strings(""), edge), axis=1)
    first, rest = (add("Gather", parts, i, axis=1) for i in range(2))
    begins = add("And", add("Equal", first, strings("")), add("Less", 1, count))
    return add("Where", begins, rest, text)


def _mended(add, texts, codes):
    """Replace bytes that are not UTF-8 by U+FFFD, as `mend` does.

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


def read_word_pieces(add, tokenizer, text):
    """Read pieces of words, as `read` of `onnx_tokenizers`."""
    codes, letters = all_characters()
    spaces = codes[tokenizer.normalize(letters).numpy() == b" "]
    letters = add.tokens(text, separators=[""])
    is_space = add.look_up(letters, {chr(x): 1 for x in spaces}, 0)
    letters = add("Where", add("Equal", is_space, 1), strings(" "), letters)
    words, _ = add("StringSplit", add.joined(letters), outputs=2, delimiter=" ")
    names = inner_names(tokenizer.vocabulary)
    table = {name: i for i, name in enumerate(names)}
    flat = add("Reshape", words, [-1])
    pieces, splits, _, _ = add(
        *("WordpieceTokenizer", flat),
        add("Range", 0, add("Add", add("Size", words), 1), 1),
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
    once = add("Where", first_column(add, ids), UNKNOWN, PAD)
    ids = add("Where", is_unknown, once, ids)  # a word as a whole
    flat = add.column(flat)
    ids = add("Where", add("Equal", flat, strings("")), PAD, ids)
    texts = [name.removeprefix(INNER_JOINER) for name in names]
    texts = add("Gather", strings(*texts), ids)
    texts = add("Where", add("Equal", ids, UNKNOWN), flat, texts)
    columns = (add("Shape", x, start=1) for x in (words, ids))
    shape = add("Concat", add("Shape", text), add("Mul", *columns), axis=0)
    return [add("Reshape", x, shape, allowzero=1) for x in (ids, texts)]


def write_word_pieces(add, tokenizer, ids, unknown):
    """Write pieces of words, as `write` of `onnx_tokenizers`."""
    names = inner_names(tokenizer.vocabulary)
    continues = np.array([name.startswith(INNER_JOINER) for name in names])
    texts = [name.removeprefix(INNER_JOINER) for name in names[FIRST:]]
    texts = names_of(add, tokenizer, ids, unknown, texts)
    joins = add("Or", add("Gather", continues, ids), add("Equal", ids, PAD))
    return spaced(add, ids, texts, joins)


def _rows(add, values, splits):
    """Turn flat values into `(B, T)`, where 0 is none."""
    starts, ends = (
        add("Slice", splits, *x) for x in (([0], [-1]), ([1], [2**31]))
    )
    places, _ = add.grid(add("Sub", ends, starts))
    return add.pick(values, places, [PAD])
