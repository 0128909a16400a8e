"""A lower bound of an encoder's training step: its matrix products.

Those of a bidirectional LSTM and of its gradient, connected by sums. There are
no gates and no activations. Inputs are multiplied once for all steps, and the
gradient of a weight is one product over all steps.
"""

import tensorflow as tf
from sides.serve import serve
from works import EncoderWork

SIDES = ("forward", "backward")


def loop(body, first, steps: int):
    """Run a step over time; return the tensors that it keeps, stacked."""

    def one(t, state, kept):
        state, tensor = body(t, state)
        return t + 1, state, kept.write(t, tensor)

    _, _, kept = tf.while_loop(
        lambda t, *_: t < steps,
        one,
        (0, first, tf.TensorArray(tf.float32, steps)),
        maximum_iterations=steps,
    )
    return kept.stack()


def direction(inputs, cotangent, kernel, recurrent):
    """Compute all products of one direction, with time on axis 0."""
    steps, batch, size = inputs.shape
    units = recurrent.shape[0]
    rows = tf.reshape(inputs, (-1, size))
    projected = tf.reshape(rows @ kernel, (steps, batch, -1))
    turned = tf.transpose(recurrent)

    def run(t, h):
        gates = projected[t] + h @ recurrent
        return 0.1 * gates[:, :units], gates

    def pull(t, dh):
        dgates = 0.1 * gates[t] + tf.concat([dh] * 4, -1)
        return dgates @ turned + cotangent[t], dgates

    first = tf.zeros_like(cotangent[0])
    gates = loop(run, first, steps)
    dgates = tf.reshape(loop(pull, first, steps), (-1, 4 * units))
    states = tf.reshape(gates[..., :units], (-1, units))
    return (
        dgates @ tf.transpose(kernel),
        tf.matmul(rows, dgates, transpose_a=True),
        tf.matmul(states, dgates, transpose_a=True),
    )


def make(work: dict, arrays: dict, mode: str):
    """Make the step: the gradients of inputs and kernels, without a model."""
    work = EncoderWork(**work)
    x = {name: tf.constant(array) for name, array in arrays.items()}

    @tf.function(jit_compile=mode == "xla")
    def step(x):
        inputs, cotangent = (
            tf.transpose(x[name], [1, 0, 2]) for name in ("inputs", "cotangent")
        )
        found, parts = {}, tf.split(cotangent, 2, -1)
        for side, own in zip(SIDES, parts, strict=True):
            names = f"{side}_kernel", f"{side}_recurrent_kernel"
            kernels = [x[name] for name in names]
            dx, *gradients = direction(inputs, own, *kernels)
            found[side] = dx
            found |= dict(zip(names, gradients, strict=True))
        inputs = found.pop("forward") + found.pop("backward")
        return {
            "inputs": tf.reshape(inputs, (work.words, work.batch, -1))
        } | found

    def run():
        return step(x)

    return run, run


if __name__ == "__main__":
    serve(make)
