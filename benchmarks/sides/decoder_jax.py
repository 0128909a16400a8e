"""A training step of the decoder in plain JAX: `lax.scan` under `jit`.

Keys and inputs are projected once.
"""

import jax
from jax import numpy as jnp
from sides.serve import serve


def decode(inputs, memory, w):
    """Run an LSTM in Bahdanau's order: `(B, T, D)` to `(B, T, U)`."""
    size = inputs.shape[-1]
    keys = memory @ w["key_kernel"]
    projected = inputs @ w["kernel_0"][:size] + w["bias_0"]
    of_context = w["kernel_0"][size:]

    def step(states, x):
        h, c = states
        query = (h @ w["query_kernel"])[:, None]
        weights = jax.nn.softmax(jnp.tanh(keys + query) @ w["score_vector"])
        context = jnp.einsum("bs,bsd->bd", weights, memory)
        gates = x + context @ of_context + h @ w["recurrent_kernel_0"]
        i, f, g, o = jnp.split(gates, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros_like(memory[:, 0])
    _, outputs = jax.lax.scan(step, (zeros, zeros), projected.swapaxes(0, 1))
    return outputs.swapaxes(0, 1)


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (sizes are in the arrays)
    """Make the step: outputs, and gradients of inputs and weights."""
    weights = {name: jnp.asarray(array) for name, array in arrays.items()}
    cotangent = weights.pop("cotangent")

    @jax.jit
    def step(trained, cotangent):
        def loss(trained):
            weights = dict(trained)
            inputs, memory = weights.pop("inputs"), weights.pop("memory")
            outputs = decode(inputs, memory, weights)
            return jnp.sum(outputs * cotangent), outputs

        gradients, outputs = jax.grad(loss, has_aux=True)(trained)
        return {"outputs": outputs, **gradients}

    def run():
        return jax.block_until_ready(step(weights, cotangent))

    return run, run


if __name__ == "__main__":
    serve(make)
