"""A bidirectional LSTM on torch: our encoder, or Keras' layer."""

from sides.encoder_model import build
from sides.encoder_torch import step_of
from sides.serve import serve
from works import EncoderWork


def make(work: dict, arrays: dict, mode: str):  # noqa: ARG001 (it has one mode)
    """Make the step: outputs, and gradients of inputs and weights."""
    work = EncoderWork(**work)
    layer, variables = build(work, arrays)
    trained = {name: x.value for name, x in variables.items()}

    def read(inputs):
        return layer(inputs, training=work.gradient)[0]

    run = step_of(read, trained, work, arrays)
    return run, run


if __name__ == "__main__":
    serve(make)
