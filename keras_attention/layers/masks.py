"""Access to the mask that a Keras tensor carries."""

import keras


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
