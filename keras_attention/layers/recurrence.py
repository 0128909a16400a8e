"""The directions of recurrent layers, and whether Keras runs their loop."""

from keras import layers

KNOWN = (layers.RNN, layers.LSTM, layers.GRU, layers.SimpleRNN)


def loops_as_keras(layer: layers.Layer) -> bool:
    """Tell whether a layer runs its cell over time as Keras' layers do.

    Args:
        layer: Any layer; one that is not recurrent does not.
    """
    kind = type(layer)
    return (
        isinstance(layer, layers.RNN)
        and kind.call in {known.call for known in KNOWN}
        and kind.inner_loop in {known.inner_loop for known in KNOWN}
    )


def directions(layer: layers.Layer) -> list[layers.Layer]:
    """Return the layers of both directions, or the layer itself.

    Args:
        layer: A `Bidirectional`, or any other layer.
    """
    if isinstance(layer, layers.Bidirectional):
        return [layer.forward_layer, layer.backward_layer]
    return [layer]
