"""How far is a training step of the decoder from its bare matrix products?

Additive attention, LSTM of 512 units, batch 64, 30 words on either side,
inputs of size 256, in Bahdanau's order: forward and gradient, against the
products of the same sizes, each three times (forward, inputs, weights), and
the two passes of tanh. Run it as

    python benchmarks/decoder_step.py [--jit]
"""

import argparse

import keras
import tensorflow as tf
from interleave import ratio

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention

BATCH, STEPS, WORDS, UNITS, SIZE = 64, 30, 30, 512, 256


def decoder_step(jit: bool):
    """Make the step: a call and the gradient of everything."""
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(UNITS), BahdanauAttention(UNITS), output="cell"
    )
    decoder = AttentionDecoder(cell)
    inputs = tf.random.normal((BATCH, STEPS, SIZE))
    memory = tf.random.normal((BATCH, WORDS, UNITS))
    decoder(inputs, memory)
    weights = [weight.value for weight in decoder.trainable_weights]

    @tf.function(jit_compile=jit)
    def step():
        with tf.GradientTape() as tape:
            tape.watch([inputs, memory])
            loss = tf.reduce_sum(decoder(inputs, memory))
        gradients = tape.gradient(loss, [inputs, memory, *weights])
        return [tf.reduce_sum(gradient) for gradient in gradients]

    return lambda: [x.numpy() for x in step()]


def bare_products(jit: bool):
    """Make the same products, with nothing between them."""
    shapes = [
        (BATCH, UNITS + SIZE, 4 * UNITS),  # input and context to the gates
        (BATCH, UNITS, 4 * UNITS + UNITS),  # state to the gates, to the query
    ]
    pairs = [
        (tf.random.normal((m, k)), tf.random.normal((k, n)))
        for m, k, n in shapes
    ]
    keys = tf.random.normal((BATCH, WORDS, UNITS))
    query = tf.random.normal((BATCH, 1, UNITS))

    @tf.function(jit_compile=jit)
    def step():
        def body(t, total):
            noise = tf.cast(t, tf.float32)  # nothing may leave the loop
            for x, w in pairs:
                y = (x + noise) @ w
                total += tf.reduce_sum(y @ tf.transpose(w))
                total += tf.reduce_sum(tf.transpose(x) @ y)
            for _ in range(2):
                total += tf.reduce_sum(tf.tanh(keys + query + noise + total))
            return t + 1, total

        start = (tf.constant(0), tf.constant(0.0))
        return tf.while_loop(
            lambda t, _: t < STEPS, body, start, maximum_iterations=STEPS
        )[1]

    return lambda: step().numpy()


def main(jit: bool):
    """Print the ratio."""
    mode = "XLA" if jit else "default mode"
    found = ratio(decoder_step(jit), bare_products(jit))
    print(f"decoder step against bare products, {mode}: {found}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jit", action="store_true")
    main(**vars(parser.parse_args()))
