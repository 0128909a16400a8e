"""WordPiece tokenization with operations of LiteRT and `tensorflow_text`."""

import tensorflow as tf

from keras_attention.export.tensor_pieces import piece_tokenizer
from keras_attention.export.tensor_tokenizer import TensorTokenizer
from keras_attention.export.tensor_tokenizer import framed
from keras_attention.export.tensor_tokenizer import own_ids
from keras_attention.extras import require
from keras_attention.steps.pieces import INNER_JOINER
from keras_attention.steps.pieces import NormalizeWords
from keras_attention.steps.pieces import WordPieces
from keras_attention.steps.primitives import SPECIAL_NAMES
from keras_attention.steps.primitives import UNKNOWN
from keras_attention.steps.primitives import Split
from keras_attention.text import AbstractTokenizer

STEPS = NormalizeWords, Split, WordPieces


def check_litert_tokenizer(side: str, tokenizer: AbstractTokenizer):
    """Raise a `ValueError` unless LiteRT has operations for a tokenizer.

    Args:
        side: `"source"` or `"target"`.
        tokenizer: The tokenizer.
    """
    steps = tokenizer.steps
    if tuple(map(type, steps)) != STEPS or steps[1] != Split():
        raise ValueError(
            f"`{side}_tokenizer` must have the steps of a WordPieceTokenizer, "
            "because LiteRT supports no others. Received: "
            f"{type(tokenizer).__name__}. Use format='litert', from ids to "
            "ids, and tokenize outside of the file."
        )


def litert_tokenize(tokenizer: TensorTokenizer, text):
    """Convert strings to ids with operations that LiteRT has.

    Args:
        tokenizer: The tokenizer.
        text: Strings `(B,)`, valid UTF-8.

    Returns:
        Ids `(B, T)` int32: start, text, end, and zeros as padding.
    """
    normalize, _, pieces = tokenizer.forms
    words = _split_at_spaces(normalize.read(text))
    return framed(pieces.ids(words), None)


def litert_detokenize(tokenizer: TensorTokenizer, ids):
    """Convert ids to strings with operations that LiteRT has.

    Args:
        tokenizer: The tokenizer.
        ids: `(B, T)` int32. Padding, start ids, and everything after the
            first end id are ignored.

    Returns:
        Strings `(B,)`, with `<unk>` for unknown words.
    """
    own = own_ids(ids)
    lengths = tf.reduce_sum(tf.cast(own, tf.int64), axis=1)
    ids = tokenizer.known(ids)
    names, firsts = _first_names(tokenizer.forms[-1].step)
    first = tf.cumsum(tf.cast(own, tf.int32), axis=1) == 1
    ids = tf.where(first, tf.gather(firsts, ids), ids)
    ids = tf.boolean_mask(ids, own)
    ids = tf.RaggedTensor.from_row_lengths(ids, lengths, validate=False)
    return piece_tokenizer(names).detokenize(ids)


def _split_at_spaces(text):
    """Split strings at every " ", like `tf.strings.split`.

    LiteRT has no `tf.strings.split`. It has
    `tensorflow_text.WhitespaceTokenizer`, which also splits at multi-byte
    spaces, such as U+00A0, and leaves some of their bytes in the word before.

    Args:
        text: Strings `(B,)`.

    Returns:
        Non-empty words as a ragged tensor of strings `(B, None)`.
    """
    ops = require("tensorflow_text", "text", "WordPieceTokenizer")
    splitter = ops.ByteSplitter()
    data, starts, ends = splitter.split_with_offsets(text)
    data = tf.cast(data, tf.int32)  # LiteRT cannot compare uint8
    inside = data.flat_values != ord(" ")  # (N,), for each byte of the batch
    first = starts.flat_values == 0  # of a string
    continued = inside & ~first  # by the next byte, once shifted
    begins = inside & (first | ~tf.pad(inside, [[1, 0]])[:-1])
    stops = inside & ~tf.pad(continued, [[0, 1]])[1:]
    words_before = tf.cumsum(tf.cast(begins, tf.int64))
    row_splits = tf.gather(tf.pad(words_before, [[1, 0]]), data.row_splits)

    def chosen(offsets, flags):
        offsets = tf.boolean_mask(offsets.flat_values, flags)
        return tf.RaggedTensor.from_row_splits(
            offsets, row_splits, validate=False
        )

    return splitter.split_by_offsets(
        text, chosen(starts, begins), chosen(ends, stops)
    )


def _first_names(step: WordPieces) -> tuple[list[str], list[int]]:
    """Return the names of pieces, and of pieces at the beginning of a text.

    Args:
        step: The step.

    Returns:
        names: The names of all ids, followed by those of continuing pieces
            at the beginning of a text, where they continue nothing.
        firsts: For each id, the id that replaces it at the beginning.
    """
    names = [*step.names]
    names[UNKNOWN] = SPECIAL_NAMES[UNKNOWN]  # is written
    ids = {name: i for i, name in enumerate(names)}
    firsts = [
        ids.setdefault(name.removeprefix(INNER_JOINER), len(ids))
        for name in names
    ]
    return list(ids), firsts
