"""Fast paths on torch."""

from collections.abc import Callable

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
