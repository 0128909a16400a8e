"""What torch does better than `keras.ops` alone."""

import torch
from keras import tree


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


def custom_gradient(function):
    """Give a function a gradient of its own, which has none itself.

    Args:
        function: From tensors to the results and a function from their
            cotangents to those of all its arguments.
    """

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *arguments):
            results, ctx.gradient = function(*arguments)
            return results

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, *cotangents):
            return ctx.gradient(*cotangents)

    return Own.apply


def differentiate(function, arguments):
    """Run a function, and be ready to pull cotangents back through it.

    Args:
        function: From the arguments to a list of results and to more, which
            is only handed on.
        arguments: Lists of float tensors.

    Returns:
        What the function handed on, and a function from the cotangents of
        the results to those of the arguments, `None` where there is none.
    """
    arguments = tree.map_structure(
        lambda x: x.detach().requires_grad_(), arguments
    )
    with torch.enable_grad():
        results, more = function(*arguments)

    def pull(cotangents):
        pairs = zip(results, cotangents, strict=True)
        pairs = [(x, dx) for x, dx in pairs if x.requires_grad]
        found = torch.autograd.grad(
            [x for x, _ in pairs],
            tree.flatten(arguments),
            [dx for _, dx in pairs],
            allow_unused=True,
        )
        return tree.pack_sequence_as(arguments, found)

    return tree.map_structure(lambda x: x.detach(), more), pull
