"""One call of an additive attention layer and its gradient, on TensorFlow.

Keras' `AdditiveAttention` has no projections. The kernels of ours are identity
matrices here, so all numbers are equal, although ours computes both
projections and their gradients.
"""

import keras
import numpy as np
import tensorflow as tf
from sides.serve import serve
from works import AttentionWork

from keras_attention import BahdanauAttention

DATA = ("query", "value", "key")


def build(work: AttentionWork, vector):
    """Make the layer; return it as a function, and its score's vector."""
    shape = (None, None, work.units)
    if work.layer == "ours":
        layer = BahdanauAttention(work.units)
        layer.build(shape, shape)
        layer.query_kernel.assign(np.eye(work.units))
        layer.key_kernel.assign(np.eye(work.units))
        layer.score_vector.assign(vector)
        return layer, layer.score_vector
    layer = keras.layers.AdditiveAttention()
    layer.build([shape, shape, shape])
    layer.scale.assign(vector)
    return lambda *data: layer(list(data)), layer.scale


def make(work: dict, arrays: dict, mode: str):
    """Make the step: outputs, and gradients of inputs and weights."""
    layer, vector = build(AttentionWork(**work), arrays["score_vector"])
    weights = [vector.value]
    if work["layer"] == "ours":
        weights += [layer.query_kernel.value, layer.key_kernel.value]
    data = [tf.constant(arrays[name]) for name in DATA]
    cotangent = tf.constant(arrays["cotangent"])

    @tf.function(jit_compile=mode == "xla")
    def step(data, cotangent):
        with tf.GradientTape() as tape:
            tape.watch(data)
            outputs = layer(*data)
            loss = tf.reduce_sum(outputs * cotangent)
        return outputs, tape.gradient(loss, [*data, *weights])

    def run():
        return step(data, cotangent)

    def numbers():
        outputs, gradients = run()
        names = (*DATA, "score_vector")  # the gradients that both sides have
        return {"outputs": outputs, **dict(zip(names, gradients, strict=False))}

    return run, numbers


if __name__ == "__main__":
    serve(make)
