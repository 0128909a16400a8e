"""Recurrent layers of Keras, masks of sequences, and the order of both.

A recurrent layer with `go_backwards=True` returns its sequence in reverse
order, but its mask in the original order.
"""

import inspect

import keras
from keras import layers
from keras import tree

from keras_attention.backend import ops

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
KEEPING = (  # these pass a mask on, and keep the order
    *POINTWISE,
    layers.BatchNormalization,
    layers.LayerNormalization,
    layers.RMSNormalization,
    layers.TimeDistributed,
)
MERGING = (
    layers.Add,
    layers.Average,
    layers.Concatenate,
    layers.Maximum,
    layers.Minimum,
    layers.Multiply,
    layers.Subtract,
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


def reversed_by(layer: layers.Layer, before: layers.Layer | None = None):
    """Return the layer that reverses the output of a layer.

    Args:
        layer: The layer, or a model of layers.
        before: The layer that has reversed its inputs, if any. Defaults to
            `None`.

    Returns:
        The layer that reverses it, or `None`. The result is also `None` for
        layers that are neither recurrent nor applied to each position
        separately.

    Raises:
        ValueError: If a layer that uses masks reads a reversed sequence.
    """
    if isinstance(layer, keras.Sequential):
        for part in layer.layers:
            before = reversed_by(part, before)
        return before
    if isinstance(layer, keras.Function):  # a functional model
        return reversed_in(tree.flatten(layer.outputs)[0])
    if isinstance(layer, KEEPING):
        return before
    if isinstance(layer, RECURRENT) or _reads_mask(layer):
        _refuse(layer, before)
    is_recurrent = isinstance(layer, RECURRENT)
    is_reversed = is_recurrent and directions(layer)[0].go_backwards
    return layer if is_reversed else None


def _reads_mask(layer):
    return getattr(layer, "keeps_order", False)


def reversed_in(x):
    """Return the layer that reversed a tensor of a functional model.

    Args:
        x: A symbolic tensor that Keras created by calling layers.

    Returns:
        As in `reversed_by`.

    Raises:
        ValueError: As in `reversed_by`; or if reversed sequences and others are
            added or concatenated.
    """
    layer = _operations(x)[-1]
    if isinstance(layer, keras.Model):
        return reversed_by(layer)
    is_merging = isinstance(layer, MERGING)
    keeps = isinstance(layer, KEEPING) or _reads_mask(layer)
    if not (is_merging or keeps or isinstance(layer, RECURRENT)):
        return None
    inputs = []
    if any(y is x for y in tree.flatten(layer.output)):  # at its first call
        inputs = tree.flatten(layer.input)
    if (
        _reads_mask(layer)
        and inputs
        and carried_mask(x) is not carried_mask(inputs[0])
    ):
        return None  # it carries the mask that the layer was given, in order
    found = [reversed_in(y) for y in inputs[: None if is_merging else 1]]
    before = next((one for one in found if one is not None), None)
    if is_merging and None in found:
        _refuse(layer, before)
    return before if keeps or is_merging else reversed_by(layer, before)


def _operations(x):
    """Return the operations that produce a symbolic tensor, in order.

    The first one is `None`, because an input tensor has no operation.
    """
    function = keras.Function(keras.utils.get_source_inputs(x), x)
    return [None, *function.operations]


def _refuse(layer, before):
    if before is not None:
        raise ValueError(
            f"{type(layer).__name__} `{layer.name}` needs a sequence in the "
            "order of its mask. Received: a sequence that "
            f"{type(before).__name__} `{before.name}` with go_backwards=True "
            "has reversed. Use Bidirectional or RecurrentEncoder to read in "
            "both directions."
        )


def mask_in_order(x):
    """Return the mask of a reversed symbolic tensor, in its order.

    Args:
        x: A tensor.

    Returns:
        The mask, a symbolic tensor; `None` if `x` does not belong to a
        functional model, carries no mask, or is in the order of its mask.

    Raises:
        ValueError: As in `reversed_in`.
    """
    if not isinstance(x, keras.KerasTensor):
        return None
    mask = carried_mask(x)
    if mask is None:
        mask = _mask_of_model(x)
    if mask is None or reversed_in(x) is None:
        return None
    return ops.flip(mask, axis=1)


def _mask_of_model(x):
    """Return the mask that a nested model will return.

    The result of the nested model carries a mask only when it runs: the mask of
    its inputs.
    """
    *before, layer = _operations(x)
    before = [one for one in before if isinstance(one, layers.Layer)][-1:]
    if not before or not isinstance(layer, keras.Model):
        return None
    if isinstance(before[0], keras.Model):
        return None
    return carried_mask(tree.flatten(before[0].output)[0])
