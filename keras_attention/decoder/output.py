"""The attentional layer: joins state and contexts to a step's output."""

from collections.abc import Callable
from typing import Any
from typing import NamedTuple

from keras import ops

from keras_attention.ops import product

OUTPUTS = ("auto", "cell", "attention", "concat")


class AttentionalLayer(NamedTuple):
    """Joins a state and its contexts into one attentional vector.

    Formula:

        h = activation([s; c] W + b), or h = c without a kernel

    Attributes:
        output: Output of a step: `"cell"`, `"attention"` or `"concat"`.
        activation: The activation, or `None` without a kernel.
        kernel: `(U + Dv, A)`, or `None` for no layer.
        bias: `(A,)`, or `None`.

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), eq. 5.
    """

    output: str
    activation: Callable | None = None
    kernel: Any = None
    bias: Any = None

    def join(self, s, contexts: list):
        """Join a state and its contexts.

        Args:
            s: `(..., U)`.
            contexts: List of `(..., Dv)`, which may be empty.

        Returns:
            The output `(..., size)`, and the attentional vector `(..., A)`, or
            `None` without a context.
        """
        if not contexts:
            return s, None
        both = ops.concatenate([s, *contexts], axis=-1)
        if self.kernel is None:
            attentional = ops.concatenate(contexts, axis=-1)
        else:
            attentional = product(both, self.kernel)
            if self.bias is not None:
                bias = ops.cast(self.bias, attentional.dtype)
                attentional = attentional + bias
            attentional = self.activation(attentional)
        outputs = {"cell": s, "attention": attentional, "concat": both}
        return outputs[self.output], attentional


def resolve_output(output: str, has_layer: bool, has_context: bool) -> str:
    """Return the output that `"auto"` stands for.

    Args:
        output: One of `OUTPUTS`.
        has_layer: Whether there is an attentional layer.
        has_context: Whether there is any context.

    Returns:
        `"cell"` without a context, else `"attention"` or `"concat"`.
    """
    if not has_context:
        return "cell"
    if output != "auto":
        return output
    return "attention" if has_layer else "concat"
