"""Fast paths on torch."""

import contextlib
import functools
from collections.abc import Callable

import torch
from keras import tree

from keras_attention.backend import TransformationError
from keras_attention.backend.states import run_with_states

NAME = "torch"
PLAIN_LOOP = "python"
HAS_TEXT = False  # the model's tensors are not those of TensorFlow Text
SECOND = (
    "The training loop of a decoder or an encoder, and the cross-entropy of "
    "ids, have only a first derivative on torch. Call a layer with "
    "training=False for a loop that has every derivative, and take "
    "`torch.nn.functional.cross_entropy` as the loss."
)
FUNCTORCH = (
    "The training loop of a decoder or an encoder has none of the "
    "transformations of `torch.func` (grad, vmap, jvp). Call the layer with "
    "training=False for a loop that has them all."
)


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


def custom_gradient(function: Callable):
    """Attach a custom gradient to a function. A second derivative is refused.

    Args:
        function: Function from tensors to its results and its gradient, a
            function from their cotangents to those of all arguments.

    Returns:
        A function from tensors to the results.

    Raises:
        TransformationError: In a transformation of `torch.func`.
    """
    # `torch.compile` would fail to trace it, and leaves it as it is.
    return functools.partial(_apply, function)


@torch.compiler.disable
def _apply(function, *arguments):
    try:
        return _Own.apply(function, *arguments)
    except RuntimeError as error:
        if "functorch" not in str(error):
            raise
        raise TransformationError(FUNCTORCH) from error


def _autocast(x):
    """Make what casts as the `torch.autocast` around the call does."""
    kind = x.device.type
    casts = torch.amp.is_autocast_available(kind)
    if not (casts and torch.is_autocast_enabled(kind)):
        return contextlib.nullcontext()
    return torch.autocast(kind, torch.get_autocast_dtype(kind))


class _Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, function, *arguments):
        results, ctx.gradient = function(*arguments)
        ctx.autocast = _autocast(arguments[0])  # which backward is outside of
        ctx.save_for_backward(*arguments)
        return results

    @staticmethod
    def backward(ctx, *cotangents):
        is_differentiated = torch.is_grad_enabled()
        with torch.no_grad(), ctx.autocast:
            found = ctx.gradient(*cotangents)
        found = found if isinstance(found, tuple) else (found,)
        if is_differentiated:
            # It depends on these, also where no cotangent has a gradient.
            origins = *ctx.saved_tensors, *cotangents
            found = _Once.apply(len(found), *found, *origins)
        return None, *found


class _Once(torch.autograd.Function):
    """Returns gradients as they are, which have no gradient themselves."""

    @staticmethod
    def forward(_, count, *tensors):
        return tuple(x if x is None else x.view_as(x) for x in tensors[:count])

    @staticmethod
    def backward(ctx, *_):
        raise NotImplementedError(SECOND)


def differentiate(function: Callable, arguments):
    """Run a function, and return its vector-Jacobian product.

    Args:
        function: Function from the arguments to a list of results and to
            auxiliary values, which have no cotangents.
        arguments: Lists of float tensors.

    Returns:
        The auxiliary values, and a function from the cotangents of the
        results to those of the arguments, `None` where there is none.
    """
    arguments = tree.map_structure(
        lambda x: x.detach().requires_grad_(), arguments
    )
    with torch.enable_grad():
        results, more = function(*arguments)

    def pull(cotangents):
        pairs = zip(results, cotangents, strict=True)
        pairs = [(x, dx) for x, dx in pairs if x.requires_grad]
        gradients = torch.autograd.grad(
            [x for x, _ in pairs],
            tree.flatten(arguments),
            [dx for _, dx in pairs],
            allow_unused=True,
        )
        return tree.pack_sequence_as(arguments, gradients)

    return tree.map_structure(lambda x: x.detach(), more), pull


def replace_rows(
    function: Callable, tensors: list, count: int, block_bounds: Callable
):
    """Replace the rows of a matrix by a function of them, in one new matrix.

    Arguments and results are those of `keras_attention.ops.replace_rows`, and
    `block_bounds` of the same module.
    """
    replaced = torch.empty_like(tensors[0])
    for begin, end in block_bounds(len(replaced), count):
        replaced[begin:end] = function(*[x[begin:end] for x in tensors])
    return replaced
