"""Recurrent layers of Keras, and masks of sequences."""

import inspect

import keras
from keras import layers

LOOPS = (layers.RNN, layers.LSTM, layers.GRU, layers.SimpleRNN)
RECURRENT = layers.RNN, layers.Bidirectional
# What these give at a position depends on that position alone.
POINTWISE = (
    layers.Activation,
    layers.Dense,
    layers.Dropout,
    layers.Embedding,
    layers.GaussianDropout,
    layers.GaussianNoise,
    layers.Identity,
    layers.SpatialDropout1D,
)


def loops_as_keras(layer: layers.Layer) -> bool:
    """Return whether a layer runs its cell over time like Keras' layers.

    Args:
        layer: Any layer. For layers that are not recurrent, and for subclasses
            of Keras' layers, the result is `False`.
    """
    return type(layer) in LOOPS


def directions(layer: layers.Layer) -> list[layers.Layer]:
    """Return the layers of both directions, or the layer itself.

    Args:
        layer: A `Bidirectional`, or any other layer.
    """
    if isinstance(layer, layers.Bidirectional):
        return [layer.forward_layer, layer.backward_layer]
    return [layer]


class _MaskReader(layers.Layer):
    def __init__(self):
        # Keras' own dtype would stay what it is before a user sets `floatx`.
        super().__init__(name="mask_reader", dtype="float32", autocast=False)
        self.supports_masking = self.built = True

    def call(self, x, mask=None):
        return mask

    def compute_output_spec(self, x, mask=None):
        self.read = mask  # as an output, it would have this layer as its origin
        return keras.KerasTensor(x.shape, x.dtype)


class _MaskWriter(layers.Layer):
    def __init__(self):
        super().__init__(name="mask_writer", dtype="float32", autocast=False)
        self.built = True

    def call(self, both):
        return both[0]

    def compute_output_spec(self, both):
        return keras.KerasTensor(both[0].shape, both[0].dtype)

    def compute_mask(self, both, previous_mask=None):
        return both[1]


_mask_reader, _mask_writer = _MaskReader(), _MaskWriter()


def carried_mask(x):
    """Return the mask that a tensor carries.

    The mask is read through a layer's argument `mask`, because Keras does not
    keep it on the tensor itself while JAX traces.

    Args:
        x: A tensor, inside or outside a layer's `call`.

    Returns:
        The mask, or `None` if `x` carries none.
    """
    if not isinstance(x, keras.KerasTensor):
        return _mask_reader(x)
    # A layer keeps what is called on symbolic tensors, and so their models.
    reader = _MaskReader()
    reader(x)
    return reader.read


def with_mask(x, mask):
    """Return a tensor that carries a mask.

    Args:
        x: A tensor.
        mask: Its mask.
    """
    is_symbolic = isinstance(x, keras.KerasTensor)
    return (_MaskWriter() if is_symbolic else _mask_writer)([x, mask])


def call_masked(
    layer: layers.Layer, x, mask=None, training: bool | None = None
):
    """Call a layer with a mask, through its argument `mask` if it has one.

    The inputs carry the mask as well, for layers that compute the mask of their
    results. From 3.16 on, recurrent layers of Keras warn about every mask,
    because their results carry none unless this is enabled. Therefore it is
    enabled for this call.

    Args:
        layer: The layer.
        x: `(B, T, D)`.
        mask: Boolean `(B, T)`, or `None`.
        training: Whether to apply dropout, if the layer has this argument.

    Returns:
        What the layer returns.
    """
    options = {"training": training, "mask": mask}
    taken = inspect.signature(layer.call).parameters
    options = {name: x for name, x in options.items() if name in taken}
    told = [
        part
        for part in (layer, *directions(layer))
        if isinstance(part, RECURRENT) and not part.supports_masking
    ]
    try:
        for part in told:
            part.supports_masking = True
        if mask is not None and layer.supports_masking:
            x = with_mask(x, mask)
        return layer(x, **options)
    finally:
        for part in told:
            part.supports_masking = False


def sublayers(layer: layers.Layer) -> list[layers.Layer]:
    """List a layer and all layers inside it, each once.

    A layer is inside another if an attribute of the other contains it, directly
    or in lists, tuples, dictionaries and sets.

    Args:
        layer: The layer or model to start with, which comes first.
    """
    found, waiting = {}, [layer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, layers.Layer):
            if id(value) not in found:
                found[id(value)] = value
                waiting.extend(vars(value).values())
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple | set):
            waiting.extend(value)
    return list(found.values())


def obeys_masks(layer: layers.Layer) -> bool:
    """Return whether padding after a sequence does not affect the sequence.

    A class declares this with `pads_freely = True`. Among Keras' layers, it is
    known for recurrent layers, for layers that are applied to each position
    separately, and for a `Sequential` of these. All others are assumed to read
    padding.

    Args:
        layer: A layer of sequences `(B, T, D)`, or a model of such layers.
    """
    if hasattr(layer, "pads_freely"):
        return layer.pads_freely
    if type(layer) is keras.Sequential:
        return all(map(obeys_masks, layer.layers))
    if isinstance(layer, RECURRENT):
        both = directions(layer)
        # One that goes backwards alone would begin with the padding.
        return all(map(loops_as_keras, both)) and not both[0].go_backwards
    if type(layer) is layers.LayerNormalization:
        return layer.axis in (-1, [-1])
    activation = getattr(layer, "activation", keras.activations.linear)
    name = getattr(activation, "__name__", "")
    is_known = getattr(keras.activations, name, None) is activation
    return type(layer) in POINTWISE and is_known
