"""A training step of our decoder on TensorFlow."""

import tensorflow as tf
from sides.decoder_model import build
from sides.serve import serve
from works import DecoderWork

DATA = ("inputs", "memory")


def make(work: dict, arrays: dict, mode: str):
    """Make the step: outputs, and gradients of inputs and weights."""
    decoder, variables = build(DecoderWork(**work), arrays)
    inputs, memory = (tf.constant(arrays[name]) for name in DATA)
    cotangent = tf.constant(arrays["cotangent"])

    @tf.function(jit_compile=mode == "xla")
    def step(inputs, memory, cotangent):
        with tf.GradientTape() as tape:
            tape.watch([inputs, memory])
            outputs = decoder(inputs, memory)
            loss = tf.reduce_sum(outputs * cotangent)
        trained = [inputs, memory, *(v.value for v in variables.values())]
        names = [*DATA, *variables]
        gradients = tape.gradient(loss, trained)
        return {"outputs": outputs, **dict(zip(names, gradients, strict=True))}

    def run():
        return step(inputs, memory, cotangent)

    return run, run


if __name__ == "__main__":
    serve(make)
