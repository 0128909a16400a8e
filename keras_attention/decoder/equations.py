"""The equations of Keras' own recurrent cells, on products that are ours.

They compute what the cells do, from the cells' weights. Written with `product`
they train in `trainable_loop`; and a part of the input's product can be taken
before the loop, for all steps at once: it comes back as `x`.
"""

import keras
from keras import ops

from keras_attention.ops import hoist
from keras_attention.ops import joint_product
from keras_attention.ops import product


def lstm(cell, x, more, states, masks=None):
    """Run one step of an `LSTMCell`.

    Formula:

        i, f, g, o = split(y W + h R + b)
        c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c')

    Args:
        cell: A built Keras cell.
        x: What `read` gives for the first part of the inputs `y`, or for all.
        more: The last part of the inputs, `(B, D)`, or `None`.
        states: List of `h` and `c`.
        masks: Of the recurrent dropout: one for each gate, or `None`.

    Returns:
        The output, and the next states.
    """
    h, c = states
    x = x + _both_products(cell, more, h, masks)
    gate, activation = cell.recurrent_activation, cell.activation
    i, f, g, o = ops.split(x, 4, axis=-1)
    c = gate(f) * c + gate(i) * activation(g)
    h = gate(o) * activation(c)
    return h, [h, c]


def gru(cell, x, more, states, masks=None):
    """Run one step of a `GRUCell`.

    Formula:

        xz, xr, xn = split(y W + b), and so hz, hr, hn = split(h R + b')
        z = sigmoid(xz + hz), r = sigmoid(xr + hr)
        h' = z h + (1 - z) tanh(xn + r hn)
        without `reset_after`: tanh(xn + (r h) R)

    Args:
        cell: A built Keras cell.
        x: What `read` gives for the first part of the inputs `y`, or for all.
        more: The last part of the inputs, `(B, D)`, or `None`.
        states: List of `h`.
        masks: Of the recurrent dropout: one for each gate, or `None`.

    Returns:
        The output, and the next states.
    """
    (h,) = states
    kernel, units = cell.recurrent_kernel, cell.units
    if more is not None:
        x = x + product(more, _last_rows(cell, more))
    xz, xr, xn = ops.split(x, 3, axis=-1)
    if cell.reset_after:
        every = masked_product(h, kernel, masks)
        if cell.use_bias:
            every = every + ops.cast(cell.bias[1], every.dtype)
        hz, hr, hn = ops.split(every, 3, axis=-1)
    else:
        gates = hoist(lambda kernel: kernel[:, : 2 * units], kernel)
        every = masked_product(h, gates, masks and masks[:2])
        hz, hr = ops.split(every, 2, axis=-1)
    z = cell.recurrent_activation(xz + hz)
    r = cell.recurrent_activation(xr + hr)
    if cell.reset_after:
        hn = r * hn
    else:
        last = hoist(lambda kernel: kernel[:, 2 * units :], kernel)
        hn = product(r * (h * masks[2] if masks else h), last)
    h = z * h + (1 - z) * cell.activation(xn + hn)
    return h, [h]


def simple_rnn(cell, x, more, states, masks=None):
    """Run one step of a `SimpleRNNCell`.

    Formula:

        h' = tanh(y W + h R + b)

    Args:
        cell: A built Keras cell.
        x: What `read` gives for the first part of the inputs `y`, or for all.
        more: The last part of the inputs, `(B, D)`, or `None`.
        states: List of `h`.
        masks: Of the recurrent dropout, `(B, U)`, or `None`.

    Returns:
        The output, and the next states.
    """
    h = cell.activation(x + _both_products(cell, more, states[0], masks))
    return h, [h]


EQUATIONS = {
    keras.layers.LSTMCell: lstm,
    keras.layers.GRUCell: gru,
    keras.layers.SimpleRNNCell: simple_rnn,
}


def read(cell, x, masks=None):
    """Multiply the first part of the inputs, or all, by a cell's kernel.

    Args:
        cell: A built Keras cell.
        x: `(..., D)`.
        masks: Of the dropout, which takes the inputs as a whole: one, one for
            each gate, or `None`.

    Returns:
        The product with the bias, `(..., size)`.
    """
    size = x.shape[-1]
    kernel = cell.kernel
    if size < kernel.shape[0]:
        kernel = hoist(lambda kernel: kernel[:size], kernel)
    found = masked_product(x, kernel, masks)
    if not cell.use_bias:
        return found
    has_two = getattr(cell, "reset_after", False)
    return found + ops.cast(cell.bias[0] if has_two else cell.bias, found.dtype)


def _last_rows(cell, more):
    begin = cell.kernel.shape[0] - more.shape[-1]
    return hoist(lambda kernel: kernel[begin:], cell.kernel)


def _both_products(cell, more, h, masks):
    """Multiply the rest of the inputs, and the state, by their kernels."""
    recurrent = cell.recurrent_kernel
    if more is None:
        return masked_product(h, recurrent, masks)
    kernel = _last_rows(cell, more)
    if masks is None:
        return joint_product([more, h], [kernel, recurrent])
    return product(more, kernel) + masked_product(h, recurrent, masks)


def masked_product(x, kernel, masks=None):
    """Multiply what dropout leaves of features by a kernel.

    Args:
        x: `(..., D)`.
        kernel: `(D, U)`.
        masks: Of the features: one, a list with one for each of the blocks
            that the kernel's columns are made of, or `None`.
    """
    if masks is None:
        return product(x, kernel)
    if not isinstance(masks, list):
        return product(x * masks, kernel)
    size = kernel.shape[-1] // len(masks)
    blocks = []
    for k, mask in enumerate(masks):
        columns = slice(k * size, (k + 1) * size)
        block = hoist(lambda kernel, own=columns: kernel[:, own], kernel)
        blocks.append(product(x * mask, block))
    return ops.concatenate(blocks, axis=-1)
