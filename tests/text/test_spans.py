"""cut_out: what `substr` gives, for every piece of a text."""

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from keras_attention.text.spans import cut_out

STARTS, ENDS = [[0, 2, 2, 4], [], [1, 0]], [[2, 2, 5, 6], [], [3, 3]]


def spans(rows):
    return tf.ragged.constant(rows, dtype=tf.int64, ragged_rank=1)


def test_pieces_may_be_empty_overlap_and_leave_gaps():
    text = tf.constant([b"abcdef", b"", "x\u00fc".encode()])
    pieces = cut_out(text, spans(STARTS), spans(ENDS))
    assert pieces.to_list() == [
        [b"ab", b"", b"cde", b"ef"],
        [],
        ["\u00fc".encode(), "x\u00fc".encode()],
    ]


@pytest.mark.parametrize("rows", [[], [[]], [[], []]])
def test_nothing_has_no_pieces(rows):
    text = tf.constant(["abc"] * len(rows), tf.string)
    nothing = spans(rows)
    assert cut_out(text, nothing, nothing).to_list() == rows
