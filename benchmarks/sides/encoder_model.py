"""A bidirectional LSTM with given weights: our encoder, or Keras' layer."""

import keras
from sides.fit_model import PARTS
from works import EncoderWork

from keras_attention import RecurrentEncoder


def build(work: EncoderWork, arrays: dict):
    """Make the layer; return it, and its variables by name."""
    if work.layer == "ours":
        layer = RecurrentEncoder(work.units)
        both = layer.layers[0]
    else:
        lstm = keras.layers.LSTM(
            work.units, return_sequences=True, return_state=True
        )
        layer = both = keras.layers.Bidirectional(lstm)
    layer.build((None, None, work.size))
    cells = {
        "forward": both.forward_layer.cell,
        "backward": both.backward_layer.cell,
    }
    variables = {
        f"{side}_{name}": getattr(cell, name)
        for side, cell in cells.items()
        for name in PARTS
    }
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return layer, variables
