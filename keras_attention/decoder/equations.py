"""The equations of recurrent cells, on products that train fast.

They compute what the cells do, from the cells' weights. Written with
`product` they train in `trainable_loop`, and a part of the input's product
can be computed before the loop, for all steps at once.
"""

from collections.abc import Callable

import keras
from keras import ops

from keras_attention.ops import hoist
from keras_attention.ops import joint_product
from keras_attention.ops import product

_EQUATIONS: dict[type, "AbstractEquations"] = {}


def register_equations(cell_class: type) -> Callable[[type], type]:
    """Register the equations of a cell: a class decorator.

    Cells of exactly this class, not of its subclasses, then run by them.

    Args:
        cell_class: A class of Keras RNN cells.

    Returns:
        A decorator of a subclass of `AbstractEquations`.
    """

    def register(equations: type) -> type:
        _EQUATIONS[cell_class] = equations()
        return equations

    return register


def find_equations(cell) -> "AbstractEquations | None":
    """Find the equations of a cell; `None` if it has to be called itself."""
    return _EQUATIONS.get(type(cell))


class AbstractEquations:
    """The equations of one class of cells, which take the cell's weights.

    A subclass writes `step`, and overrides `project_inputs` or `input_bias`
    for a cell that has no `kernel` and `bias` as Keras' own cells have.
    """

    def input_bias(self, cell):
        """Return the bias of the input projection, `None` for none."""
        return cell.bias if cell.use_bias else None

    def project_inputs(self, cell, x, masks=None):
        """Multiply the first part of the inputs, or all, by the kernel.

        Args:
            cell: A built cell.
            x: `(..., D)`.
            masks: Of the dropout, which needs the inputs as a whole: one, one
                for each gate, or `None`.

        Returns:
            The product with the bias, `(..., size)`.
        """
        size, kernel = x.shape[-1], cell.kernel
        if size < kernel.shape[0]:
            kernel = hoist(lambda kernel: kernel[:size], kernel)
        projected = masked_product(x, kernel, masks)
        bias = self.input_bias(cell)
        if bias is None:
            return projected
        return projected + ops.cast(bias, projected.dtype)

    def step(self, cell, x, rest, states, masks=None):
        """Run one step.

        Args:
            cell: A built cell.
            x: What `project_inputs` gave for the first part of the inputs, or
                for all of them.
            rest: The last part of the inputs, `(B, D)`, or `None`.
            states: List of the cell's states, `(B, U)`.
            masks: Of the recurrent dropout: one, one for each gate, or
                `None`.

        Returns:
            The output, and the list of the next states.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define `step(cell, x, rest, states, "
            "masks=None)`, to the output and the next states."
        )


@register_equations(keras.layers.LSTMCell)
class LSTMEquations(AbstractEquations):
    """Runs an `LSTMCell`.

    Formula:

        i, f, g, o = split(y W + h R + b)
        c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c')
    """

    def step(self, cell, x, rest, states, masks=None):
        h, c = states
        x = x + _both_products(cell, rest, h, masks)
        gate, activation = cell.recurrent_activation, cell.activation
        i, f, g, o = ops.split(x, 4, axis=-1)
        c = gate(f) * c + gate(i) * activation(g)
        h = gate(o) * activation(c)
        return h, [h, c]


@register_equations(keras.layers.GRUCell)
class GRUEquations(AbstractEquations):
    """Runs a `GRUCell`.

    Formula:

        xz, xr, xn = split(y W + b), and so hz, hr, hn = split(h R + b')
        z = sigmoid(xz + hz), r = sigmoid(xr + hr)
        h' = z h + (1 - z) tanh(xn + r hn)
        without `reset_after`: tanh(xn + (r h) R)
    """

    def input_bias(self, cell):
        if not cell.use_bias:
            return None
        return cell.bias[0] if cell.reset_after else cell.bias

    def step(self, cell, x, rest, states, masks=None):
        (h,) = states
        kernel, units = cell.recurrent_kernel, cell.units
        if rest is not None:
            x = x + product(rest, _last_rows(cell, rest))
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


@register_equations(keras.layers.SimpleRNNCell)
class SimpleRNNEquations(AbstractEquations):
    """Runs a `SimpleRNNCell`.

    Formula:

        h' = tanh(y W + h R + b)
    """

    def step(self, cell, x, rest, states, masks=None):
        h = cell.activation(x + _both_products(cell, rest, states[0], masks))
        return h, [h]


def _last_rows(cell, rest):
    begin = cell.kernel.shape[0] - rest.shape[-1]
    return hoist(lambda kernel: kernel[begin:], cell.kernel)


def _both_products(cell, rest, h, masks):
    """Multiply the rest of the inputs, and the state, by their kernels."""
    recurrent = cell.recurrent_kernel
    if rest is None:
        return masked_product(h, recurrent, masks)
    kernel = _last_rows(cell, rest)
    if masks is None:
        return joint_product([rest, h], [kernel, recurrent])
    return product(rest, kernel) + masked_product(h, recurrent, masks)


def masked_product(x, kernel, masks=None):
    """Multiply what dropout leaves of features by a kernel.

    Args:
        x: `(..., D)`.
        kernel: `(D, U)`.
        masks: Of the features: one, a list with one for each of the blocks
            that the kernel's columns are made of, or `None`.

    Returns:
        `(..., U)`.
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
