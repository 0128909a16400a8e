"""Sequences that Keras returns in reverse order, unlike their masks."""

import keras
from keras import layers
from keras import ops
from keras import tree

from keras_attention.layers.recurrence import POINTWISE
from keras_attention.layers.recurrence import RECURRENT
from keras_attention.layers.recurrence import carried_mask
from keras_attention.layers.recurrence import directions

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


def reversed_by(layer: layers.Layer, before: layers.Layer | None = None):
    """Return the layer that reverses the output of a layer.

    A recurrent layer with `go_backwards=True` returns its sequence in reverse
    order, but its mask in the original order.

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
