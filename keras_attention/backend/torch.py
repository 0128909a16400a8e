"""Fast paths on torch."""

from collections.abc import Callable

import keras
import torch

from keras_attention.backend.states import run_with_states

NAME = "torch"
PLAIN_LOOP = "python"
HAS_TEXT = False  # the model's tensors are not those of TensorFlow Text


def is_traced(_) -> bool:
    """Return `False`: nothing is traced on torch."""
    return False


def compiled(function: Callable, variables, seeds, jit_compile: bool):
    """Wrap a function so that it runs without recording gradients.

    Args:
        function: Function from tensors or `None` to a structure of tensors.
        variables: The Keras variables that it reads.
        seeds: The Keras variables that it changes: states of generators.
        jit_compile: Ignored: torch runs eagerly.

    Returns:
        A function with the same arguments and results. It also takes
        `states`, variables to read and change in place of `seeds`.
    """

    @torch.no_grad()
    def call(*arguments, states=seeds):
        return run_with_states(function, arguments, seeds, states)

    return call


def outruns_keras_layers() -> bool:
    """Return whether the training loop is faster than recurrent layers.

    It is on CPUs, with a mask; on a GPU, Keras' layers are those of cuDNN.
    """
    return not torch.cuda.is_available()


def recomputed(step: Callable) -> Callable:
    """Wrap a step so that its gradient computes it again.

    Args:
        step: As in `trainable_loop`.

    Returns:
        A step that keeps its arguments alone for the gradient.
    """

    def run(layer, *arguments):
        # It is computed again outside of the scope that gave these.
        pairs = [(x, keras.ops.convert_to_tensor(x)) for x in layer.variables]

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


def run_packed(kind: str, weights, sequence, mask, repeats: bool):
    """Run a recurrent layer over whole sequences, by a kernel of torch.

    It reads real positions alone, and has every derivative.

    Args:
        kind: `"lstm"` or `"gru"`.
        weights: Kernel, recurrent kernel and bias of each direction, in the
            order of Keras.
        sequence: `(B, T, D)`.
        mask: Boolean `(B, T)`, or `None`.
        repeats: Whether a masked step has the output of the step before it,
            not 0.

    Returns:
        Outputs `(B, T, U)`, or twice the units, and the last states of each
        direction; `None` where torch has no such kernel: on a GPU, which has
        cuDNN, in half precision, for masks that do not end rows, and in
        what `torch.compile` and `torch.func` transform.
    """
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
