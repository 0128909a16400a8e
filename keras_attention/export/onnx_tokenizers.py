"""Tokenizers as nodes of ONNX: how each reads texts, and writes ids."""

import re
from functools import cache

from keras_attention.export.onnx_names import FIRST
from keras_attention.export.onnx_names import all_characters
from keras_attention.export.onnx_names import first_column
from keras_attention.export.onnx_names import names_of
from keras_attention.export.onnx_names import spaced
from keras_attention.export.onnx_pieces import read_pieces
from keras_attention.export.onnx_pieces import read_word_pieces
from keras_attention.export.onnx_pieces import write_pieces
from keras_attention.export.onnx_pieces import write_word_pieces
from keras_attention.export.onnx_strings import NO_CHARACTER
from keras_attention.export.onnx_strings import NUL
from keras_attention.export.onnx_strings import OnnxStrings
from keras_attention.export.onnx_strings import strings
from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import TaggedTokenizer
from keras_attention.text import WordPieceTokenizer
from keras_attention.text import WordTokenizer
from keras_attention.text.base import PAD
from keras_attention.text.base import SPECIAL_NAMES
from keras_attention.text.base import UNKNOWN
from keras_attention.text.cleaning import ranges
from keras_attention.text.tagged import TAB
from keras_attention.text.tensors import tf
from keras_attention.text.word import CLOSES
from keras_attention.text.word import CUTS
from keras_attention.text.word import EDGES
from keras_attention.text.word import FOLLOWS
from keras_attention.text.word import OPENS
from keras_attention.text.word import QUOTES

SYMBOL = "[^ \t\n\v\f\r]+"
BARE = f"{SYMBOL}((?s:.*){SYMBOL})?"  # without white space around it


def check_tokenizer(side: str, tokenizer: AbstractTokenizer):
    """Raise a `ValueError` unless a tokenizer can be written in ONNX.

    Args:
        side: `"source"` or `"target"`.
        tokenizer: The tokenizer.
    """
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    name, reason = type(inner).__name__, None
    if type(inner) not in READERS:
        reason = "for which ONNX has no operations that give the same ids"
    elif inner.lowercase:
        reason = "with lowercase=True, which onnxruntime does by other tables"
    if reason:
        raise ValueError(
            f"`{side}_tokenizer` must be one that ONNX has operations for. "
            f"Received: {name}, {reason}. Take one of "
            f"{tuple(x.__name__ for x in READERS)} without `lowercase`, or "
            "export ids to ids, with format='onnx', and tokenize outside."
        )


def read(
    add: OnnxStrings, tokenizer: AbstractTokenizer, text: str
) -> tuple[str, str]:
    """Read strings `(B,)`.

    Args:
        add: Where nodes are added.
        tokenizer: The tokenizer.
        text: The name of the strings.

    Returns:
        Ids `(B, T)`, 0 where there is none, in any place, and the word behind
        each, or `None` if only `sentencepiece` knows it.
    """
    return READERS[type(tokenizer)](add, tokenizer, text)


def _read_characters(add, tokenizer, text):
    letters = add.tokens(text, separators=[""])
    letters = add.normalized(letters, tokenizer.normalization)
    return _ids(add, letters, tokenizer.vocabulary), letters


def _read_symbols(add, tokenizer, text):
    symbols = add.tokens(text, tokenexp=SYMBOL)
    return _ids(add, symbols, tokenizer.vocabulary), symbols


def _read_words(add, tokenizer, text):
    text = add.cleaned(text, tokenizer.normalization)
    for pattern, rewrite in CUTS:
        text = add.replace(text, _spelled(pattern), rewrite)
    words, _ = add("StringSplit", text, outputs=2, delimiter="\n")
    names = [name.replace(NUL, NO_CHARACTER) for name in tokenizer.vocabulary]
    ids = _ids(add, words, names)
    bare = _ids(add, add.replace(words, EDGES, ""), names)
    bare = add("Max", bare, UNKNOWN)
    return add("Where", add("Equal", ids, UNKNOWN), bare, ids), words


def _read_tagged(add, tokenizer, text):
    edge = add("Concat", add("Shape", text), [2], axis=0)
    parts, _ = add("StringSplit", text, outputs=2, delimiter=TAB, maxsplit=1)
    parts = add("Concat", parts, add("Expand", strings(""), edge), axis=1)
    text, tags = (add("Gather", parts, i, axis=1) for i in range(2))
    separator = tokenizer.separator
    tags, _ = add("StringSplit", tags, outputs=2, delimiter=separator)
    bare = add.joined(add.tokens(add("Reshape", tags, [-1]), tokenexp=BARE))
    tags = add("Reshape", bare, add("Shape", tags), allowzero=1)
    ids = add.look_up(tags, {"": PAD, **tokenizer.tag_ids}, UNKNOWN)
    pairs = zip((ids, tags), read(add, tokenizer.tokenizer, text), strict=True)
    return tuple(add("Concat", *pair, axis=1) for pair in pairs)


def _ids(add, words, names):
    """Look up words, of which names have the ids 4 and so on."""
    table = {name: i for i, name in enumerate(names, start=FIRST)}
    return add.look_up(words, {"": PAD, **table}, UNKNOWN)


def _spelled(pattern):
    r"""Write out classes such as `\pL`, which other versions know otherwise."""
    return re.sub(r"\\p(\w|\{\w+\})", lambda x: _members(x[0]), pattern)


@cache
def _members(name):
    codes, letters = all_characters()
    return ranges(codes[tf.strings.regex_full_match(letters, name)])


def write(
    add: OnnxStrings,
    tokenizer: AbstractTokenizer,
    ids: str,
    unknown: str | None = None,
) -> str:
    """Write ids of the vocabulary.

    Args:
        add: Where nodes are added.
        tokenizer: The tokenizer.
        ids: `(B, T)`, then zeros to the right.
        unknown: Texts of unknown ids, strings `(B, T)`. `unknown_text` where
            they are empty. Defaults to `None`, `unknown_text` everywhere.

    Returns:
        Strings `(B,)`.
    """
    return WRITERS[type(tokenizer)](add, tokenizer, ids, unknown)


def _write_characters(add, tokenizer, ids, unknown):
    return add.joined(names_of(add, tokenizer, ids, unknown))


def _write_symbols(add, tokenizer, ids, unknown):
    names = names_of(add, tokenizer, ids, unknown)
    return spaced(add, ids, names, add("Equal", ids, PAD))


def _write_words(add, tokenizer, ids, unknown):
    words = [*SPECIAL_NAMES, *tokenizer.vocabulary]
    is_quote, follow, close, open_ = (
        add("Gather", tf.strings.regex_full_match(words, pattern), ids)
        for pattern in (QUOTES, FOLLOWS, CLOSES, OPENS)
    )
    count = add("CumSum", add("Cast", is_quote, to=add.int64), 1)
    odd = add("Cast", add("Mod", count, 2), to=add.onnx.TensorProto.BOOL)
    opening = add("And", is_quote, odd)
    closing = add("And", is_quote, add("Not", odd))
    follow = add("And", follow, _before(add, closing, False))
    close = add("Or", add("Or", close, closing), follow)
    open_ = _before(add, add("Or", open_, opening), True)
    names = names_of(add, tokenizer, ids, unknown)
    bare = [name.strip(" ") for name in tokenizer.vocabulary]
    bare = names_of(add, tokenizer, ids, unknown, bare)
    names = add("Where", first_column(add, ids), bare, names)
    return spaced(add, ids, names, add("Or", close, open_))


def _write_tagged(add, tokenizer, ids, unknown):
    inner = tokenizer.tokenizer
    is_tag = add("GreaterOrEqual", ids, inner.vocabulary_size)
    count = add("CumSum", add("Cast", is_tag, to=add.int64), 1)
    is_first = add("Equal", count, 1)
    before = add("Where", is_first, strings(TAB), strings(tokenizer.separator))
    tags = add("StringConcat", before, names_of(add, tokenizer, ids, None))
    tags = add.joined(add("Where", is_tag, tags, strings("")))
    of_text = add("And", add("Not", is_tag), add("Less", PAD, ids))
    rows = add("Shape", ids, end=1)
    unknown = names_of(add, tokenizer, ids, unknown)
    unknown, _ = add.compact(unknown, of_text, rows, strings(""))
    ids, _ = add.compact(ids, of_text, rows, [PAD])
    return add("StringConcat", write(add, inner, ids, unknown), tags)


def _before(add, flags, first):
    """Shift flags `(B, T)` to the next token."""
    edge = add("Concat", add("Shape", flags, end=1), [1], axis=0)
    flags = add("Concat", add("Expand", first, edge), flags, axis=1)
    return add("Slice", flags, [0], [-1], [1])


READERS = {
    CharacterTokenizer: _read_characters,
    SentencePieceTokenizer: read_pieces,
    SymbolTokenizer: _read_symbols,
    TaggedTokenizer: _read_tagged,
    WordPieceTokenizer: read_word_pieces,
    WordTokenizer: _read_words,
}
WRITERS = {
    CharacterTokenizer: _write_characters,
    SentencePieceTokenizer: write_pieces,
    SymbolTokenizer: _write_symbols,
    TaggedTokenizer: _write_tagged,
    WordPieceTokenizer: write_word_pieces,
    WordTokenizer: _write_words,
}
