"""Small whole models with random weights, for tests of what surrounds them."""

import keras
import numpy as np
import samples

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import StateBridge

WORDS = 9  # of source and of target
SOURCE = np.array([[2, 5, 6, 7, 3], [2, 4, 3, 0, 0], [2, 8, 8, 3, 0]])
TARGET = np.array([[2, 5, 6, 7], [2, 4, 0, 0], [2, 8, 4, 0]])


def sure_model(source_words: int, target_words: int) -> Seq2Seq:
    """Make a model whose choices are clear, so that no rounding turns them."""
    keras.utils.set_random_seed(0)
    cell = AttentionDecoderCell(keras.layers.GRUCell(8), BahdanauAttention(8))
    model = Seq2Seq(
        source_vocabulary_size=source_words,
        target_vocabulary_size=target_words,
        embedding_dim=8,
        encoder=RecurrentEncoder(4, cell="gru"),
        decoder=AttentionDecoder(cell),
        bridge=StateBridge(units=8),
    )
    model.build(((None, None), (None, None)))
    for weight in model.weights:
        weight.assign(4 * weight)
    return model


def small_model(
    attention="bahdanau", seed=3, layer_size=None, **changes
) -> Seq2Seq:
    """Make a model with weights as large as after some training.

    Args:
        attention: Of the decoder cell; `"bahdanau"` is for one of 5 units.
        seed: Of the weights.
        layer_size: Of the attentional layer, if there is one.
        **changes: Arguments of `Seq2Seq`.
    """
    if attention == "bahdanau":
        attention = BahdanauAttention(5)
    cell = AttentionDecoderCell(
        keras.layers.GRUCell(8), attention, attention_layer_size=layer_size
    )
    options = {
        "source_vocabulary_size": WORDS,
        "target_vocabulary_size": WORDS,
        "embedding_dim": 5,
        "encoder": RecurrentEncoder(4, cell="gru"),
        "decoder": AttentionDecoder(cell),
        "bridge": StateBridge(),
    }
    model = Seq2Seq(**{**options, **changes})
    model.build((SOURCE.shape, TARGET.shape))
    samples.randomize(model, seed, scale=1.0)
    if changes.get("scheduled_sampling"):
        model.sampling_probability.assign(0.0)
    return model
