"""The mask that Keras carries along with a tensor."""

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
    """Read the mask off a tensor, `None` if it carries none.

    Keras hands it to a layer's argument `mask`, and keeps it elsewhere than on
    the tensor where JAX traces.

    Args:
        x: A tensor, inside or outside of a layer's `call`.
    """
    return _MaskReader()(x)
