"""`fit` of the same model with TensorFlow Addons' decoder, on Keras 2."""

import math

import tensorflow as tf
import tensorflow_addons as tfa
from draws import decoder_of_fit
from sides.decoder_tfa import wrap
from sides.fit_data import fitting
from sides.fit_tensorflow import feed
from sides.serve import serve
from works import FitWork

PARTS = ("kernel", "recurrent_kernel", "bias")


class Translator(tf.keras.Model):
    """Embeds, encodes, decodes with attention, and scores the next word."""

    def __init__(self, work: FitWork, weights: dict):
        super().__init__()
        self.scale = math.sqrt(work.size)
        self.source_embedding, self.target_embedding = (
            tf.keras.layers.Embedding(work.vocabulary, work.size)
            for _ in range(2)
        )
        lstm = tf.keras.layers.LSTM(
            work.units, return_sequences=True, return_state=True
        )
        self.encoder = tf.keras.layers.Bidirectional(lstm)
        cell = tf.keras.layers.LSTMCell(2 * work.units)
        self.wrapper, self.attention, _ = wrap(
            decoder_of_fit(work), weights, [cell]
        )
        sampler = tfa.seq2seq.TrainingSampler()
        self.decoder = tfa.seq2seq.BasicDecoder(self.wrapper, sampler)
        self.output_layer = tf.keras.layers.Dense(work.vocabulary)
        self._assign(work, weights)

    def _assign(self, work, weights):
        """Build the other layers and set their weights."""
        shape = (None, None, work.size)
        for layer, name in (
            (self.source_embedding, "source"),
            (self.target_embedding, "target"),
        ):
            layer.build((None, None))
            layer.set_weights([weights[f"{name}_embeddings"]])
        self.encoder.build(shape)
        self.encoder.set_weights(
            [
                weights[f"{side}_{name}"]
                for side in ("forward", "backward")
                for name in PARTS
            ]
        )
        self.output_layer.build(shape)
        self.output_layer.set_weights(
            [weights["output_kernel"], weights["output_bias"]]
        )

    def call(self, inputs):
        source, target = inputs
        mask = tf.not_equal(source, 0)
        words = self.scale * self.source_embedding(source)
        memory, *states = self.encoder(words, mask=mask)
        self.attention(memory, mask=mask, setup_memory=True)
        words = self.scale * self.target_embedding(target)
        start = self.wrapper.get_initial_state(words).clone(
            cell_state=[tf.concat(states[i::2], -1) for i in range(2)]
        )
        found, _, _ = self.decoder(words, initial_state=start)
        return self.output_layer(found.rnn_output)


def loss(target, logits):
    """Compute the mean cross-entropy over the real words of a batch."""
    target = tf.cast(target, tf.int32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits)
    real = tf.cast(tf.not_equal(target, 0), tf.float32)
    return tf.reduce_sum(real * losses) / tf.reduce_sum(real)


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (it has one mode)
    """Make the model; return functions that fit it over all batches."""
    model = Translator(FitWork(**work), arrays)
    optimizers = tf.keras.optimizers
    return fitting(model, optimizers, arrays, feed, loss=loss)


if __name__ == "__main__":
    serve(make)
