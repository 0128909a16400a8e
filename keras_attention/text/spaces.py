"""Splits strings at spaces, by operations that LiteRT has."""

from keras_attention.text.tensors import tf


def split_at_spaces(text, splitter):
    """Split strings at every " ", as `tf.strings.split` does.

    LiteRT does not have `tf.strings.split`. It has
    `tensorflow_text.WhitespaceTokenizer`, but this also splits at longer
    spaces, such as U+00A0, and leaves some of their bytes in the word before.

    Args:
        text: Strings `(B,)`.
        splitter: A `tensorflow_text.ByteSplitter`.

    Returns:
        Words as a ragged tensor of strings `(B, None)`, none of them empty.
    """
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
