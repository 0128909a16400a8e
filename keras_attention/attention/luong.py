"""Multiplicative attention with a learned map between query and key."""

import keras
from keras import ops

from keras_attention.attention.projected import AbstractProjectedAttention
from keras_attention.ops import dot_scores
from keras_attention.ops import product


@keras.saving.register_keras_serializable(package="keras_attention")
class LuongGeneral(AbstractProjectedAttention):
    """Attends to the keys that a bilinear form pairs with the query.

    Formula:

        score(q, k) = q W k
        scaled: score(q, k) = g q W k

    The keys are mapped to the query's space once per source, so that a step
    costs no more than a plain inner product. `W` is the transpose of the
    memory layer's kernel in TensorFlow Addons.

    Args:
        use_scale: Whether to learn a factor `g`, which starts at 1. Defaults
            to `False`.
        **kwargs: Arguments of `AbstractProjectedAttention`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)`, key `(B, Tv, Dk)` ->
        context `(B, Tq, Dv)`; the rest as in `AbstractMemoryAttention`.

    Example:

    >>> attention = LuongGeneral()
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), section 3.1,
        "general".
    """

    def __init__(self, use_scale: bool = False, **kwargs):
        super().__init__(**kwargs)
        self.use_scale = use_scale

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = key_shape or value_shape
        self.kernel = self.add_kernel(
            "kernel", (query_shape[-1], key_shape[-1])
        )
        if self.use_scale:
            self.scale = self.add_weight(
                name="scale", shape=(), initializer="ones", autocast=False
            )

    def project_keys(self, key):
        return product(key, ops.transpose(self.kernel))

    def score(self, query, keys):
        scores = dot_scores(query, keys)
        if self.use_scale:
            scores = ops.cast(self.scale, scores.dtype) * scores
        return scores

    def get_config(self):
        return {**super().get_config(), "use_scale": self.use_scale}
