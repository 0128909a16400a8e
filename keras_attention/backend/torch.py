"""What torch does better than `keras.ops` alone."""

import torch


def is_traced(_) -> bool:
    """Tell whether a graph is being traced, which is never."""
    return False


def compiled(function, variables, seeds, jit_compile: bool):
    """Run a function without a tape: nothing it computes is differentiated.

    Args:
        function: From tensors or `None` to any structure of them.
        variables: The Keras variables it reads.
        seeds: The Keras variables it changes.
        jit_compile: Not looked at: torch runs eagerly.

    Returns:
        A function that does the same.
    """
    return torch.no_grad()(function)
