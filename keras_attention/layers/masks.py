"""Masks that Keras tensors carry, and masks that layers are given."""

import inspect

import keras

from keras_attention.layers.recurrence import directions

RECURRENT = keras.layers.RNN, keras.layers.Bidirectional


class _MaskReader(keras.layers.Layer):
    def __init__(self):
        super().__init__(name="mask_reader", autocast=False)
        self.supports_masking = True

    def call(self, x, mask=None):
        return mask

    def compute_output_spec(self, x, mask=None):
        return mask


def carried_mask(x):
    """Return the mask that a tensor carries.

    It is read through a layer's argument `mask`, since Keras does not keep
    the mask on the tensor itself while JAX traces.

    Args:
        x: A tensor, inside or outside of a layer's `call`.

    Returns:
        The mask, or `None` if `x` carries none.
    """
    return _MaskReader()(x)


def call_masked(
    layer: keras.layers.Layer, x, mask=None, training: bool | None = None
):
    """Call a layer with a mask, by its argument `mask` where it has one.

    From 3.16 on, recurrent layers of Keras warn of every mask, as their results
    carry none unless they are told to support it. So they are told.

    Args:
        layer: The layer.
        x: `(B, T, D)`.
        mask: Boolean `(B, T)`, the mask that `x` carries, or `None`.
        training: Whether to apply dropout, if the layer asks.

    Returns:
        What the layer returns.
    """
    options = {"training": training, "mask": mask}
    taken = inspect.signature(layer.call).parameters
    if isinstance(layer, RECURRENT):
        for one in (layer, *directions(layer)):
            one.supports_masking = True
    return layer(x, **{k: v for k, v in options.items() if k in taken})
