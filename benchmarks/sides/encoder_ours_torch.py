"""A bidirectional LSTM on torch: our encoder, or Keras' layer."""

import torch
from sides.encoder_model import build
from sides.serve import serve
from works import EncoderWork


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (it has one mode)
    """Make the step: outputs, and gradients of inputs and weights."""
    work = EncoderWork(**work)
    layer, variables = build(work, arrays)
    inputs = torch.tensor(arrays["inputs"], requires_grad=work.gradient)
    cotangent = torch.tensor(arrays["cotangent"])

    def run():
        if not work.gradient:
            with torch.no_grad():
                return {"outputs": layer(inputs, training=False)[0]}
        outputs = layer(inputs, training=True)[0]
        trained = [inputs, *(x.value for x in variables.values())]
        found = torch.autograd.grad((outputs * cotangent).sum(), trained)
        names = ["inputs", *variables]
        gradients = dict(zip(names, found, strict=True))
        return {"outputs": outputs.detach()} | gradients

    return run, run


if __name__ == "__main__":
    serve(make)
