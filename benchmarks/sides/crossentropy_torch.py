"""An output layer, torch's cross-entropy and their gradient."""

import torch
from sides.serve import serve
from works import CrossentropyWork


def make(work: dict, arrays: dict, mode: str):
    """Make the step: the loss, and gradients of the layer's two factors."""
    smoothing = CrossentropyWork(**work).smoothing
    assert mode == "eager", mode
    outputs, kernel = (
        torch.tensor(arrays[name], requires_grad=True)
        for name in ("outputs", "kernel")
    )
    ids = torch.tensor(arrays["ids"]).long().flatten()

    def run():
        logits = (outputs @ kernel).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(
            logits, ids, label_smoothing=smoothing
        )
        return loss, torch.autograd.grad(loss, [outputs, kernel])

    def numbers():
        loss, (of_outputs, of_kernel) = run()
        return {
            "loss": loss.detach(),
            "outputs": of_outputs,
            "kernel": of_kernel,
        }

    return run, numbers


if __name__ == "__main__":
    serve(make)
