"""Convert weights of TensorFlow Addons and attention layers of Keras."""

from .keras_layers import from_keras_layers as from_keras_layers
from .load import load_tfa_weights as load_tfa_weights
