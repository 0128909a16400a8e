"""Small whole models with random weights, for tests of what surrounds them."""

import keras
import numpy as np
import samples

import keras_attention as ka

WORDS = 9  # of source and of target
SOURCE = np.array([[2, 5, 6, 7, 3], [2, 4, 3, 0, 0], [2, 8, 8, 3, 0]])
TARGET = np.array([[2, 5, 6, 7], [2, 4, 0, 0], [2, 8, 4, 0]])
OF_CELL = {"order", "input_feeding", "attention_layer_size"}
OF_CELL |= {"attention_activation", "attention_window"}


def make_model(cell=8, attention=5, words=WORDS, **changes) -> ka.Seq2Seq:
    """Make a model whose weights are not made yet.

    Args:
        cell: The cell of the decoder, or the units of a GRU.
        attention: That of the decoder, or the units of an additive one. Where
            the cell is an `AttentionDecoderCell`, it has its own.
        words: Ids of source and of target.
        **changes: Arguments of `Seq2Seq`, and those of `OF_CELL`.
    """
    own = {name: changes.pop(name) for name in OF_CELL & changes.keys()}
    if isinstance(cell, int):
        cell = keras.layers.GRUCell(cell)
    if isinstance(attention, int):
        attention = ka.BahdanauAttention(attention)
    if not isinstance(cell, ka.AttentionDecoderCell):
        cell = ka.AttentionDecoderCell(cell, attention, **own)
    options = {
        "source_vocabulary_size": words,
        "target_vocabulary_size": words,
        "embedding_dim": 5,
        "encoder": ka.RecurrentEncoder(4, cell="gru"),
        "decoder": ka.AttentionDecoder(cell),
        "bridge": ka.StateBridge(),
    }
    return ka.Seq2Seq(**{**options, **changes})


def built_model(*arguments, features=None, **changes) -> ka.Seq2Seq:
    """Make the same with the weights that training begins with.

    Args:
        *arguments: Those of `make_model`.
        features: The number of features of the source, in place of ids.
        **changes: Those of `make_model`.
    """
    source = None, None
    if features is not None:
        changes["source_vocabulary_size"] = None
        source = *source, features
    model = make_model(*arguments, **changes)
    model.build((source, (None, None)))
    return model


def sure_model(source_words: int, target_words: int) -> ka.Seq2Seq:
    """Make a model whose choices are clear, so that no rounding turns them."""
    keras.utils.set_random_seed(0)
    model = built_model(
        attention=8,
        source_vocabulary_size=source_words,
        target_vocabulary_size=target_words,
        embedding_dim=8,
        bridge=ka.StateBridge(units=8),
    )
    for weight in model.weights:
        weight.assign(4 * weight)
    return model


def small_model(attention=5, seed=3, layer_size=None, **changes) -> ka.Seq2Seq:
    """Make a model with weights as large as after some training.

    Args:
        attention: As of `make_model`.
        seed: Of the weights.
        layer_size: Of the attentional layer, if there is one.
        **changes: As of `make_model`.
    """
    model = make_model(
        attention=attention, attention_layer_size=layer_size, **changes
    )
    model.build((SOURCE.shape, TARGET.shape))
    samples.randomize(model, seed, scale=1.0)
    if changes.get("scheduled_sampling"):
        model.sampling_probability.assign(0.0)
    return model


def small_language_model(cell=None, seed=2, **options) -> ka.LanguageModel:
    """Make a language model likewise, with the words of `small_model`."""
    cell = keras.layers.GRUCell(6) if cell is None else cell
    model = ka.LanguageModel(WORDS, 6, cell, **options)
    model.build((None, None))
    samples.randomize(model, seed, scale=1.0)
    return model


@keras.saving.register_keras_serializable(package="tests")
class Halving(keras.layers.Layer):
    """An encoder that keeps every other position."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(units)
        self.supports_masking = True

    def call(self, x, mask=None):
        return self.dense(x[:, ::2])

    def compute_mask(self, x, mask=None):
        return None if mask is None else mask[:, ::2]

    def compute_output_shape(self, shape):
        length = None if shape[1] is None else (shape[1] + 1) // 2
        return shape[0], length, self.dense.units


def functional_model(attention, words=8, units=3) -> keras.Model:
    """Make a model of Keras' layers and our decoder, as the guides show."""
    source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
    states = {"return_sequences": True, "return_state": True}
    lstm = keras.layers.LSTM(units, **states)
    embed = keras.layers.Embedding(words, 5, mask_zero=True)
    memory, *states = keras.layers.Bidirectional(lstm)(embed(source))
    cell = keras.layers.LSTMCell(2 * units)
    decoder = ka.AttentionDecoder(ka.AttentionDecoderCell(cell, attention))
    states = ka.StateBridge()(states)
    outputs = decoder(embed(target), memory, initial_state=states)
    return keras.Model([source, target], keras.layers.Dense(words)(outputs))
