"""The backend torch."""

from collections.abc import Callable

import keras
import torch

from keras_attention.backend.base import AbstractBackend
from keras_attention.backend.base import run_with_states
from keras_attention.backend.torch_ops import ops


def _run_packed(kind, weights, sequence, mask, repeats):
    order = mask.sum(1).argsort(descending=True)
    sizes = mask.sum(0)  # rows that each step has
    sizes = sizes[sizes > 0]
    steps, rows = mask[order].T.nonzero(as_tuple=True)
    places = order[rows], steps
    units = weights[0][1].shape[0]
    zeros = sequence.new_zeros((len(weights), int(sizes[0]), units))
    parameters = [x for one in weights for x in _as_torch(kind, *one)]
    options = parameters, True, 1, 0.0, False, len(weights) == 2
    if kind == "lstm":
        found = torch.lstm(sequence[places], sizes, (zeros, zeros), *options)
    else:
        found = torch.gru(sequence[places], sizes, zeros, *options)
    packed, *states = found
    outputs = packed.new_zeros((*mask.shape, packed.shape[-1]))
    outputs = outputs.index_put(places, packed)
    live = order[: sizes[0]]
    blank = packed.new_zeros((len(weights), len(mask), units))
    states = [blank.index_copy(1, live, x) for x in states]
    if repeats:
        outputs = torch.where(mask[..., None], outputs, states[0][0][:, None])
    return outputs, [x[i] for i in range(len(weights)) for x in states]


def _as_torch(kind, kernel, recurrent_kernel, bias):
    """Bring weights of Keras into the order and shapes of torch."""
    biases = (bias, torch.zeros_like(bias)) if kind == "lstm" else bias
    weights = [kernel, recurrent_kernel, *biases]
    if kind == "gru":  # Keras has the update gate first
        gates = [x.chunk(3, -1) for x in weights]
        weights = [torch.cat([r, z, n], -1) for z, r, n in gates]
    return [weights[0].T, weights[1].T, *weights[2:]]


class TorchBackend(AbstractBackend):
    """Loops of Python, and torch's own gradients."""

    ops = ops
    plain_loop = "python"
    has_packed_kernels = True

    def is_traced(self, _) -> bool:
        return False

    def compiled(self, function: Callable, variables, seeds, jit_compile: bool):
        @torch.no_grad()
        def call(*arguments, states=seeds):
            return run_with_states(function, seeds, arguments, states)

        return call

    def take_rows(self, x, index):
        return x[index]  # `ops.take` looks for negative numbers

    def beam_taker(self, index, size) -> Callable:
        rows = torch.arange(len(index), device=index.device)[:, None]
        index = index.long()

        def take(x):
            if not isinstance(x, torch.Tensor):
                x = keras.ops.convert_to_tensor(x)
            return x[rows, index]

        return take

    def outruns_keras_layers(self) -> bool:
        return not torch.cuda.is_available()

    def recomputed(self, step: Callable) -> Callable:
        def run(layer, *arguments):
            # It is computed again outside of the scope that gave these.
            pairs = [
                (x, keras.ops.convert_to_tensor(x)) for x in layer.variables
            ]

            def scoped():
                with keras.StatelessScope(pairs):
                    return step(layer, *arguments)

            try:
                return keras.remat(scoped)()
            except RuntimeError as error:
                if "saved tensor hooks" not in str(error):
                    raise
                return scoped()  # `torch.func.grad` has none

        return run

    def run_packed(self, kind: str, weights, sequence, mask, repeats: bool):
        if sequence.device.type != "cpu" or sequence.dtype.itemsize < 4:
            return None
        if torch.compiler.is_compiling():
            return None
        if mask is None:
            mask = torch.ones(sequence.shape[:2], dtype=torch.bool)
        try:
            if (mask[:, 1:] & ~mask[:, :-1]).any() or not mask.any():
                return None
            return _run_packed(kind, weights, sequence, mask, repeats)
        except RuntimeError:  # of `torch.func`, which does not know the kernel
            return None


backend = TorchBackend()
