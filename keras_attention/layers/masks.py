"""Masks that Keras tensors carry, and masks that layers are given."""

import inspect

import keras

from keras_attention.layers.recurrence import directions
from keras_attention.layers.recurrence import loops_as_keras

HERE, *_ = __name__.split(".")
RECURRENT = keras.layers.RNN, keras.layers.Bidirectional
# What these give at a position depends on that position alone.
POINTWISE = (
    keras.layers.Activation,
    keras.layers.Dense,
    keras.layers.Dropout,
    keras.layers.Embedding,
    keras.layers.GaussianDropout,
    keras.layers.GaussianNoise,
    keras.layers.Identity,
    keras.layers.SpatialDropout1D,
)


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


def obeys_masks(layer: keras.layers.Layer) -> bool:
    """Tell whether padding behind a sequence changes nothing before it.

    What is not known is taken to read padding: a layer of the user's own, whose
    argument `mask` may not reach all of its parts, a convolution, and a sum of
    two branches, of which one may have lost the mask.

    Args:
        layer: A layer of sequences `(B, T, D)`, or a model of such layers.

    Returns:
        Whether it is a layer of Keras or of this package that takes a mask, or
        runs on each position alone. All layers of a `Sequential` or functional
        model must be, and hand the mask on.
    """
    parts = getattr(layer, "operations", None)  # of a functional model
    if isinstance(layer, keras.Sequential):
        parts = layer.layers
    if parts is not None:
        parts = [x for x in parts if not isinstance(x, keras.layers.InputLayer)]
        return all(_hands_on(x) and obeys_masks(x) for x in parts)
    if isinstance(layer, keras.layers.LayerNormalization):
        return layer.axis in (-1, [-1])
    if isinstance(layer, RECURRENT):
        both = directions(layer)
        # One that goes backwards alone would begin with the padding.
        return all(map(loops_as_keras, both)) and not both[0].go_backwards
    if isinstance(layer, keras.layers.Lambda):
        return False  # it takes a mask that its function may not
    if not _is_known(type(layer).call):
        return False
    if type(layer).call in {kind.call for kind in POINTWISE}:
        return _is_known(getattr(layer, "activation", keras.activations.linear))
    taken = inspect.signature(layer.call).parameters
    return any(
        name in taken for name in ("mask", *map("{}_mask".format, taken))
    )


def _is_known(function):
    package, *_ = (getattr(function, "__module__", None) or "").split(".")
    return inspect.isfunction(function) and package in ("keras", HERE)


def _hands_on(operation):
    is_layer = isinstance(operation, keras.layers.Layer)
    return is_layer and operation.supports_masking
