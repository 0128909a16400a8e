"""A training step of our decoder on torch."""

import torch
from sides.decoder_model import build
from sides.decoder_torch import DATA
from sides.decoder_torch import DEVICE
from sides.decoder_torch import step_of
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
    return step_of(
        lambda: run_decoder(inputs, memory, training=True), trained, cotangent
    )


if __name__ == "__main__":
    serve(make)
