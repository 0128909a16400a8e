"""A training step of our decoder on torch."""

import torch
from sides.decoder_model import build
from sides.decoder_torch import DATA
from sides.decoder_torch import DEVICE
from sides.serve import serve
from works import DecoderWork


def make(work: dict, arrays: dict, mode: str):
    """Make the step: outputs, and gradients of inputs and weights."""
    decoder, variables = build(DecoderWork(**work), arrays)
    inputs, memory, cotangent = (
        torch.tensor(arrays[name], device=DEVICE) for name in DATA
    )
    trained = {
        "inputs": inputs.requires_grad_(),
        "memory": memory.requires_grad_(),
        **{name: x.value for name, x in variables.items()},
    }
    run_decoder = torch.compile(decoder) if mode == "compile" else decoder

    def run():
        outputs = run_decoder(inputs, memory, training=True)
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
