"""Multiplicative attention with a kernel between query and key."""

import math

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_choice
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import dot_scores
from keras_attention.ops import product


@keras.saving.register_keras_serializable(package="keras_attention")
class LuongGeneral(AbstractKernelLayer, AbstractAttention):
    """Attends by a learned bilinear form of query and key.

    Formula:

        score(q, k) = q W k
        scaled: score(q, k) = g q W k
        "sqrt": score(q, k) = q W k / sqrt(Dq)

    The layer projects keys to the query's size once per source, so that a step
    costs no more than with `DotAttention`. `W` is the transpose of the memory
    layer's kernel in TensorFlow Addons.

    An optimizer such as Adam changes every element of `W` by about the same
    amount in each step. The more features queries and keys have, the more such
    a step changes the scores. Attention weights may then become almost one-hot
    early in training. `"sqrt"` divides these changes by the square root of the
    query's size.

    Args:
        use_scale: Whether to learn a factor `g`, with the initial value 1; or
            `"sqrt"` to divide by the square root of the query's size. Defaults
            to `False`.
        alignment: How scores become weights, as in `AbstractAttention`.
            Defaults to `"softmax"`.
        dropout: Rate at which attention weights are dropped in training.
            Defaults to `0.0`.
        seed: Integer random seed. Defaults to `None`.
        kernel_initializer: Initializer of every kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of every kernel. Defaults to `None`.
        kernel_constraint: Constraint of every kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)`, key `(B, Tv, Dk)` ->
        context `(B, Tq, Dv)`; the rest as in `AbstractAttention`.

    Raises:
        ValueError: If `dropout` is not in `[0, 1)`, if `use_scale` or
            `alignment` is unknown, or if shapes do not match.

    Example:

    >>> attention = LuongGeneral()
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), section 3.1,
        "general"; `"sqrt"`:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), eq. 1.
    """

    score_margin = 0

    def __init__(
        self,
        use_scale: bool | str = False,
        *,
        alignment: str | dict | AbstractAlignment = "softmax",
        dropout: float = 0.0,
        seed: int | None = None,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(
            alignment=alignment,
            dropout=dropout,
            seed=seed,
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        check_choice("use_scale", use_scale, (False, True, "sqrt"))
        self.use_scale = use_scale if use_scale == "sqrt" else bool(use_scale)
        self.scale = None  # `build` sets the weight

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = key_shape or value_shape
        self.kernel = self.add_kernel(
            "kernel", (query_shape[-1], key_shape[-1])
        )
        if self.use_scale is True:
            self.scale = self.add_weight(
                name="scale", shape=(), initializer="ones", autocast=False
            )

    def project_keys(self, key):
        keys = product(key, ops.transpose(self.kernel))
        if self.use_scale == "sqrt":
            return keys / math.sqrt(self.kernel.shape[0])
        return keys

    def score(self, query, keys):
        scores = dot_scores(query, keys)
        if self.scale is not None:
            scores = ops.cast(self.scale, scores.dtype) * scores
        return scores
