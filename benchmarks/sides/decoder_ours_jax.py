"""A training step of our decoder on JAX, under `jit`."""

import jax
from jax import numpy as jnp
from sides.decoder_model import build
from sides.serve import serve
from works import DecoderWork

DATA = ("inputs", "memory")


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (JAX has one mode)
    """Make the step: outputs, and gradients of inputs and weights."""
    decoder, variables = build(DecoderWork(**work), arrays)
    names = {id(variable): name for name, variable in variables.items()}
    order = [names[id(variable)] for variable in decoder.trainable_variables]
    trained = {name: jnp.asarray(arrays[name]) for name in (*DATA, *order)}
    others = [v.value for v in decoder.non_trainable_variables]
    cotangent = jnp.asarray(arrays["cotangent"])

    @jax.jit
    def step(trained, others, cotangent):
        def loss(trained):
            weights = [trained[name] for name in order]
            data = [trained[name] for name in DATA]
            outputs, _ = decoder.stateless_call(weights, others, *data)
            return jnp.sum(outputs * cotangent), outputs

        gradients, outputs = jax.grad(loss, has_aux=True)(trained)
        return {"outputs": outputs, **gradients}

    def run():
        return jax.block_until_ready(step(trained, others, cotangent))

    return run, run


if __name__ == "__main__":
    serve(make)
