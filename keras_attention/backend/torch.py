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
