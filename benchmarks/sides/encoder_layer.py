"""A bidirectional LSTM on TensorFlow: our encoder, or Keras' layer."""

import tensorflow as tf
from sides.encoder_model import build
from sides.serve import serve
from works import EncoderWork


def make(work: dict, arrays: dict, mode: str):
    """Make the step: outputs, and gradients of inputs and weights."""
    work = EncoderWork(**work)
    layer, variables = build(work, arrays)
    inputs, cotangent = (
        tf.constant(arrays[name]) for name in ("inputs", "cotangent")
    )

    @tf.function(jit_compile=mode == "xla")
    def forward(inputs):
        return {"outputs": layer(inputs, training=False)[0]}

    @tf.function(jit_compile=mode == "xla")
    def step(inputs, cotangent):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = layer(inputs, training=True)[0]
            loss = tf.reduce_sum(outputs * cotangent)
        trained = [inputs, *(v.value for v in variables.values())]
        gradients = tape.gradient(loss, trained)
        names = ["inputs", *variables]
        return {"outputs": outputs, **dict(zip(names, gradients, strict=True))}

    def run():
        return step(inputs, cotangent) if work.gradient else forward(inputs)

    return run, run


if __name__ == "__main__":
    serve(make)
