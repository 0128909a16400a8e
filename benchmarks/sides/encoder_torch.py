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


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (it has one mode)
    """Make the step: outputs, and gradients of inputs and weights."""
    work = EncoderWork(**work)
    layer, parameters = build(work, arrays)
    inputs = torch.tensor(arrays["inputs"], requires_grad=work.gradient)
    cotangent = torch.tensor(arrays["cotangent"])

    def run():
        if not work.gradient:
            with torch.no_grad():
                return {"outputs": layer(inputs)[0]}
        outputs = layer(inputs)[0]
        trained = [inputs, *parameters.values()]
        found = torch.autograd.grad((outputs * cotangent).sum(), trained)
        names = ["inputs", *parameters]
        gradients = dict(zip(names, found, strict=True))
        return {"outputs": outputs.detach()} | {
            name: x.T if name.endswith("kernel") else x
            for name, x in gradients.items()
        }

    return run, run


if __name__ == "__main__":
    serve(make)
