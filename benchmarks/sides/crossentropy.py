"""An output layer, a cross-entropy and their gradient, on TensorFlow."""

import keras
import tensorflow as tf
from keras import ops
from sides.serve import serve
from works import CrossentropyWork

from keras_attention import SequenceCrossentropy
from keras_attention.ops.tokens import fused
from keras_attention.ops.tokens import pick


def plain(y_true, logits, s: float):
    """Compute the formula of `SequenceCrossentropy`, without its gradient."""
    loss = ops.logsumexp(logits, axis=-1) - (1 - s) * pick(logits, y_true)
    return ops.mean(loss - s * ops.mean(logits, axis=-1) if s else loss)


def loss_of(work: CrossentropyWork):
    """Return the loss, a function of ids and logits."""
    if work.loss == "ours":
        return SequenceCrossentropy(work.smoothing)
    if work.loss == "formula":
        return lambda y_true, logits: plain(y_true, logits, work.smoothing)
    assert not work.smoothing, "Keras' loss of ids has no label smoothing"
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def make(work: dict, arrays: dict, mode: str):
    """Make the step: the loss, and gradients of the layer's two factors."""
    loss = loss_of(CrossentropyWork(**work))
    factors = [tf.constant(arrays[name]) for name in ("outputs", "kernel")]
    ids = tf.constant(arrays["ids"])
    unknown = [tf.TensorSpec((None, None, *x.shape[2:])) for x in factors]

    @tf.function(
        autograph=False,
        jit_compile=mode == "xla",
        input_signature=[
            [unknown[0], tf.TensorSpec(factors[1].shape)],
            tf.TensorSpec((None, None), "int32"),
        ],
    )
    def step(factors, ids):
        with fused(mode == "xla"), tf.GradientTape() as tape:
            tape.watch(factors)
            result = loss(ids, ops.matmul(*factors))
        return result, tape.gradient(result, factors)

    def run():
        return step(factors, ids)

    def numbers():
        result, (of_outputs, of_kernel) = run()
        return {"loss": result, "outputs": of_outputs, "kernel": of_kernel}

    return run, numbers


if __name__ == "__main__":
    serve(make)
