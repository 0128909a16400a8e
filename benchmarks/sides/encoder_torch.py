"""A bidirectional LSTM of torch, `nn.LSTM`."""

import torch
from sides.serve import serve
from works import EncoderWork

# Keras' names; torch's kernels are transposed, and it has two biases.
NAMES = {"weight_ih": "kernel", "weight_hh": "recurrent_kernel"}
SUFFIXES = {"forward": "_l0", "backward": "_l0_reverse"}


def build(work: EncoderWork, arrays: dict):
    """Make the layer; return it, and its parameters by Keras' names."""
    layer = torch.nn.LSTM(
        work.size, work.units, batch_first=True, bidirectional=True
    )
    parameters = {}
    with torch.no_grad():
        for side, suffix in SUFFIXES.items():
            for name, keras_name in NAMES.items():
                found = parameters[f"{side}_{keras_name}"] = getattr(
                    layer, name + suffix
                )
                found.copy_(torch.tensor(arrays[f"{side}_{keras_name}"].T))
            getattr(layer, f"bias_hh{suffix}").zero_()
            found = parameters[f"{side}_bias"] = getattr(
                layer, f"bias_ih{suffix}"
            )
            found.copy_(torch.tensor(arrays[f"{side}_bias"]))
    return layer, parameters


def step_of(read, trained: dict, work: EncoderWork, arrays: dict):
    """Make a step: outputs, and gradients of inputs and weights.

    Args:
        read: Function from inputs to outputs.
        trained: Weights by name.
        work: Says whether gradients are taken.
        arrays: The inputs, and the cotangent of the outputs.

    Returns:
        A function to the numbers by name.
    """
    inputs = torch.tensor(arrays["inputs"], requires_grad=work.gradient)
    cotangent = torch.tensor(arrays["cotangent"])
    trained = {"inputs": inputs, **trained}

    def run():
        if not work.gradient:
            with torch.no_grad():
                return {"outputs": read(inputs)}
        outputs = read(inputs)
        loss = (outputs * cotangent).sum()
        found = torch.autograd.grad(loss, list(trained.values()))
        gradients = dict(zip(trained, found, strict=True))
        return {"outputs": outputs.detach(), **gradients}

    return run


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (it has one mode)
    """Make the step; numbers are in the shapes of Keras."""
    work = EncoderWork(**work)
    layer, parameters = build(work, arrays)
    run = step_of(lambda x: layer(x)[0], parameters, work, arrays)

    def numbers():
        return {
            name: x.T if name.endswith("kernel") else x
            for name, x in run().items()
        }

    return run, numbers


if __name__ == "__main__":
    serve(make)
