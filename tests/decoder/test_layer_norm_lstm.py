"""LayerNormLSTMCell: the paper in NumPy, in Keras' loops and in ours.

Its gradients in a decoder are in test_decoder_gradients, its parts in
test_equations.
"""

import keras
import numpy as np
import pytest
from gradients import check_gradients
from gradients import to_numpy
from gradients import to_tensor
from keras import ops
from reference import layer_norm_lstm
from reference import named_weights
from samples import EXACT
from samples import draw
from samples import randomize

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import DotAttention
from keras_attention import LayerNormLSTMCell

B, T, D, U = 2, 4, 3, 5
NORMS = ("kernel_norm", "recurrent_norm", "state_norm")


def make(**kwargs):
    cell = LayerNormLSTMCell(U, dtype="float64", **kwargs)
    cell.build((None, D))
    randomize(cell)
    return cell


def paper(cell, x, steps=T):
    """Outputs `(B, T, U)` of each row, step by step."""
    w, every = named_weights(cell), []
    for row in x:
        states, outputs = [np.zeros(U), np.zeros(U)], []
        for t in range(steps):
            output, states = layer_norm_lstm(row[t], states, w)
            outputs.append(output)
        every.append(outputs)
    return np.array(every)


def test_is_the_paper_in_a_loop_of_keras():
    cell, x = make(), draw(B, T, D)
    layer = keras.layers.RNN(cell, return_sequences=True, dtype="float64")
    found = to_numpy(layer(to_tensor(x)))
    assert found.dtype == "float64"
    np.testing.assert_allclose(found, paper(cell, x), atol=EXACT)


def test_gradients_are_slopes():
    cell, x = make(activation="sigmoid"), draw(B, D)  # tanh of JAX is float32
    states = [draw(B, U, seed=1), draw(B, U, seed=2)]
    weights = [to_numpy(w) for w in cell.trainable_weights]
    assert len(weights) == 3 + 2 * 3

    def function(x, h, c, *weights):
        mapping = zip(cell.trainable_weights, weights, strict=True)
        with keras.StatelessScope(state_mapping=list(mapping)):
            output, (_, c) = cell(x, [h, c])
        return ops.sum(output * output * output) + ops.sum(c * c * c)

    check_gradients(function, [x, *states, *weights])


def test_names_of_weights_are_those_of_tfa():
    cell = make()
    for name, shape in {
        "kernel": (D, 4 * U),
        "recurrent_kernel": (U, 4 * U),
        "bias": (4 * U,),
    }.items():
        assert getattr(cell, name).shape == shape
    for name, size in zip(NORMS, (4 * U, 4 * U, U), strict=True):
        norm = getattr(cell, name)
        assert norm.name == name
        assert norm.gamma.shape == norm.beta.shape == (size,)


def test_half_precision_stays_finite():
    cell = LayerNormLSTMCell(U, dtype="mixed_float16")
    decoder = AttentionDecoder(
        AttentionDecoderCell(
            cell, DotAttention(dtype="mixed_float16"), dtype="mixed_float16"
        ),
        dtype="mixed_float16",
    )
    found = decoder(50 * draw(B, T, D), 50 * draw(B, T, U), training=True)
    assert keras.backend.standardize_dtype(found.dtype) == "float16"
    assert np.isfinite(to_numpy(found)).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("units", 0), ("norm_epsilon", 0.0), ("dropout", 1.0)],
)
def test_refuses_numbers_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"`{name}`.*Received: {name}="):
        LayerNormLSTMCell(**{"units": U, name: value})
