"""explain_layout: an error says which layout is not supported."""

import keras
import numpy as np
import pytest

from keras_attention import load_tfa_weights


def refused(kind, shapes):
    """What the error says of a source with these variables."""
    cell = kind(3)
    cell.build((None, 2))
    source = {name: np.ones(x, "float32") for name, x in shapes.items()}
    with pytest.raises(ValueError, match="Nothing was changed") as error:
        load_tfa_weights(cell, source)
    return str(error.value)


def joined(owner):
    return {f"{owner}/kernel": (5, 12), f"{owner}/bias": (12,)}


def separate(owner, gates, bias):
    return {
        f"{owner}/kernel:0": (2, 3 * gates),
        f"{owner}/recurrent_kernel:0": (3, 3 * gates),
        f"{owner}/bias:0": bias,
    }


LSTM, GRU = keras.layers.LSTMCell, keras.layers.GRUCell
GATES = {"rnn/gru_cell/gates/kernel": (5, 6), "rnn/gru_cell/gates/bias": (6,)}


@pytest.mark.parametrize(
    ("kind", "shapes", "said"),
    [
        (LSTM, joined("rnn/basic_lstm_cell"), "TensorFlow 1"),
        (LSTM, joined("rnn/lstm_cell"), "TensorFlow 1"),
        (LSTM, joined("decoder/attention_wrapper/lstm_cell"), "TensorFlow 1"),
        (LSTM, joined("decoder/cell"), "TensorFlow 1"),  # told by its rows
        (GRU, GATES, "TensorFlow 1"),
        (LSTM, separate("cu_dnnlstm", 4, (24,)), "CuDNNLSTM"),
        (GRU, separate("cu_dnngru_1", 3, (18,)), "CuDNNGRU"),
        (LSTM, {"cudnn_lstm/opaque_kernel": (84,)}, "CuDNNLSTM"),
        (GRU, separate("gru/gru_cell", 3, (9,)), "reset_after=False"),
    ],
)
def test_a_layout_that_is_known_is_named(kind, shapes, said):
    assert said in refused(kind, shapes)


def test_a_kernel_that_is_missing_is_no_layout():
    shapes = separate("rnn/lstm_cell", 4, (12,))
    del shapes["rnn/lstm_cell/recurrent_kernel:0"]
    said = refused(LSTM, shapes)
    assert "recurrent_kernel (3, 12)" in said
    assert "TensorFlow 1" not in said
