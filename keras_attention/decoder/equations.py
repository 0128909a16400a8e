"""The equations of recurrent cells, for fast training.

They compute the same results as the cells, from the cells' weights. Because
they use `product`, `masked_loop` can record them, and the input projection
can be computed for all steps at once, before the loop.
"""

from collections.abc import Callable

import keras

from keras_attention.backend import ops
from keras_attention.checks import missing_method
from keras_attention.ops import hoist
from keras_attention.ops import joint_product
from keras_attention.ops import product

_EQUATIONS: dict[type, "AbstractEquations"] = {}


def register_equations(cell_class: type) -> Callable[[type], type]:
    """Register the equations of a class of cells, as a class decorator.

    Only cells of exactly this class use them, not cells of its subclasses.

    Args:
        cell_class: A class of Keras RNN cells.

    Returns:
        A decorator for a subclass of `AbstractEquations`.

    Example:

    >>> from keras_attention.decoder.equations import AbstractEquations
    >>> from keras_attention.decoder.equations import find_equations
    >>> from keras_attention.decoder.equations import register_equations
    >>> from keras_attention.ops import hoist, product
    >>> class Fading(SimpleRNNCell):
    ...     def call(self, inputs, states, training=False):
    ...         h = 0.5 * states[0] + ops.matmul(inputs, self.kernel)
    ...         return h, [h]
    >>> @register_equations(Fading)
    ... class FadingEquations(AbstractEquations):
    ...     def input_bias(self, cell):
    ...         return None
    ...     def step(self, cell, x, rest, states, masks=None):
    ...         if rest is not None:  # the context, the last of the inputs
    ...             last = rest.shape[-1]
    ...             kernel = hoist(lambda w: w[-last:], cell.kernel)
    ...             x = x + product(rest, kernel)
    ...         h = 0.5 * states[0] + x
    ...         return h, [h]
    >>> type(find_equations(Fading(3))).__name__
    'FadingEquations'
    """

    def register(equations: type) -> type:
        _EQUATIONS[cell_class] = equations()
        return equations

    return register


def find_equations(cell) -> "AbstractEquations | None":
    """Return the equations of a cell, or `None` if none are registered."""
    return _EQUATIONS.get(type(cell))


class AbstractEquations:
    """Computes the steps of one class of cells from a cell's weights.

    A subclass defines `step`, and overrides `project_inputs` or `input_bias` if
    the cell does not have the `kernel` and `bias` of Keras' cells.
    """

    def input_bias(self, cell):
        """Return the bias of the input projection, or `None`."""
        return cell.bias if cell.use_bias else None

    def project_inputs(self, cell, x, masks=None):
        """Project the inputs, or their first `D` features, with the kernel.

        Args:
            cell: A built cell.
            x: `(..., D)`.
            masks: One dropout mask for the inputs, a list of one mask per gate,
                or `None`.

        Returns:
            The projection with the bias, `(..., size)`.
        """
        size, kernel = x.shape[-1], cell.kernel
        if size < kernel.shape[0]:
            kernel = hoist(lambda kernel: kernel[:size], kernel)
        projected = masked_product(x, kernel, masks)
        bias = self.input_bias(cell)
        if bias is None:
            return projected
        return projected + ops.cast(bias, projected.dtype)

    def step(self, cell, x, rest, states, masks=None) -> tuple:
        """Run one step.

        Args:
            cell: A built cell.
            x: What `project_inputs` returned, `(B, size)`.
            rest: The features of the inputs that are not yet projected,
                `(B, D)`, or `None`.
            states: List of the cell's states, `(B, U)`.
            masks: One mask for recurrent dropout, a list of one mask per gate,
                or `None`.

        Returns:
            The output `(B, U)`, and the list of the next states.
        """
        raise missing_method(self.step)


@register_equations(keras.layers.LSTMCell)
class LSTMEquations(AbstractEquations):
    """Computes an `LSTMCell`.

    Formula:

        i, f, g, o = split(y W + h R + b)
        c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c')
    """

    def step(self, cell, x, rest, states, masks=None) -> tuple:
        h, c = states
        x = x + _both_products(cell, rest, h, masks)
        gate, activation = _activations(cell)
        i, f, g, o = ops.split(x, 4, axis=-1)
        c = gate(f) * c + gate(i) * activation(g)
        h = gate(o) * activation(c)
        return h, [h, c]


@register_equations(keras.layers.GRUCell)
class GRUEquations(AbstractEquations):
    """Computes a `GRUCell`.

    Formula:

        xz, xr, xn = split(y W + b)
        hz, hr, hn = split(h R + b')
        z = sigmoid(xz + hz), r = sigmoid(xr + hr)
        h' = z h + (1 - z) tanh(xn + r hn)
        without `reset_after`: tanh(xn + (r h) R)
    """

    def input_bias(self, cell):
        if not cell.use_bias:
            return None
        return cell.bias[0] if cell.reset_after else cell.bias

    def step(self, cell, x, rest, states, masks=None) -> tuple:
        (h,) = states
        kernel, units = cell.recurrent_kernel, cell.units
        if rest is not None:
            x = x + product(rest, last_rows(cell, rest))
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
        gate, activation = _activations(cell)
        z, r = gate(xz + hz), gate(xr + hr)
        if cell.reset_after:
            hn = r * hn
        else:
            last = hoist(lambda kernel: kernel[:, 2 * units :], kernel)
            hn = product(r * (h * masks[2] if masks else h), last)
        h = z * h + (1 - z) * activation(xn + hn)
        return h, [h]


@register_equations(keras.layers.SimpleRNNCell)
class SimpleRNNEquations(AbstractEquations):
    """Computes a `SimpleRNNCell`.

    Formula:

        h' = tanh(y W + h R + b)
    """

    def step(self, cell, x, rest, states, masks=None) -> tuple:
        h = cell.activation(x + _both_products(cell, rest, states[0], masks))
        return h, [h]


def _activations(cell):
    """Return the functions of gates and values; those of `ops` are faster."""
    gate, activation = cell.recurrent_activation, cell.activation
    gate = ops.sigmoid if gate is keras.activations.sigmoid else gate
    is_tanh = activation is keras.activations.tanh
    return gate, ops.tanh if is_tanh else activation


def last_rows(cell, rest):
    """Return the rows of a cell's kernel for the last features of its inputs.

    Args:
        cell: A built cell with a `kernel (D, U)`.
        rest: The last features of the inputs, `(B, R)`.

    Returns:
        `(R, U)`.
    """
    begin = cell.kernel.shape[0] - rest.shape[-1]
    return hoist(lambda kernel: kernel[begin:], cell.kernel)


def _both_products(cell, rest, h, masks):
    """Project the remaining inputs and the state, and add the products."""
    recurrent = cell.recurrent_kernel
    if rest is None:
        return masked_product(h, recurrent, masks)
    kernel = last_rows(cell, rest)
    if masks is None:
        return joint_product([rest, h], [kernel, recurrent])
    return product(rest, kernel) + masked_product(h, recurrent, masks)


def masked_product(x, kernel, masks=None):
    """Apply dropout masks to features, and multiply them by a kernel.

    Args:
        x: `(..., D)`.
        kernel: `(D, U)`.
        masks: One mask, `None`, or a list of masks, one for each of equal
            blocks of the kernel's columns.

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
