"""A training step of the decoder in plain torch, as a loop in Python.

Keys and inputs are projected once. Mode `"compile"` puts `torch.compile`
around the loop.
"""

import torch
from sides.serve import serve
from torch.nn.functional import softmax

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_float32_matmul_precision("high")  # TF32 on a GPU, as set for JAX
DATA = ("inputs", "memory", "cotangent")


def lstm(gates, c):
    """Compute the states of an LSTM from its gates, in Keras' order."""
    i, f, g, o = gates.chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def attend(query, keys, memory, vector, mask=None):
    """Compute the context `(B, K, Dv)` of additive attention.

    Args:
        query: Projected queries `(B, K, U)`.
        keys: Projected keys `(B, Tv, U)`.
        memory: `(B, Tv, Dv)`.
        vector: The score's vector, `(U,)`.
        mask: Boolean `(B, Tv)`, or `None`.
    """
    scores = torch.tanh(query[:, :, None] + keys[:, None]) @ vector
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None], -torch.inf)
    return softmax(scores, -1) @ memory


def decode(inputs, memory, w):
    """Run an LSTM in Bahdanau's order: `(B, T, D)` to `(B, T, U)`."""
    size = inputs.shape[-1]
    keys = memory @ w["key_kernel"]
    projected = inputs @ w["kernel_0"][:size] + w["bias_0"]
    of_context = w["kernel_0"][size:]
    h = c = torch.zeros_like(memory[:, 0])
    outputs = []
    for x in projected.unbind(1):
        query = h @ w["query_kernel"]
        context = attend(query[:, None], keys, memory, w["score_vector"])[:, 0]
        gates = x + context @ of_context + h @ w["recurrent_kernel_0"]
        h, c = lstm(gates, c)
        outputs.append(h)
    return torch.stack(outputs, 1)


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (sizes are in the arrays)
    """Make the step: outputs, and gradients of inputs and weights."""
    tensors = {
        name: torch.tensor(array, device=DEVICE)
        for name, array in arrays.items()
    }
    inputs, memory, cotangent = (tensors.pop(name) for name in DATA)
    trained = {"inputs": inputs, "memory": memory, **tensors}
    for tensor in trained.values():
        tensor.requires_grad_()
    run_decoder = torch.compile(decode) if mode == "compile" else decode
    return step_of(
        lambda: run_decoder(inputs, memory, tensors), trained, cotangent
    )


def step_of(decode, trained: dict, cotangent):
    """Make a step: outputs, and gradients of what is trained.

    Args:
        decode: Function without arguments to the outputs.
        trained: Tensors by name.
        cotangent: Of the outputs.

    Returns:
        What `make` returns.
    """

    def run():
        outputs = decode()
        loss = (outputs * cotangent).sum()
        gradients = torch.autograd.grad(loss, list(trained.values()))
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        return {
            "outputs": outputs,
            **dict(zip(trained, gradients, strict=True)),
        }

    def numbers():
        return {name: x.detach().cpu() for name, x in run().items()}

    return run, numbers


if __name__ == "__main__":
    serve(make)
