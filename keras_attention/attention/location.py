"""Location-based attention: the query alone says where to look."""

import keras
from keras import ops

from keras_attention.attention.projected import AbstractProjectedAttention
from keras_attention.checks import check_integer
from keras_attention.ops import join_masks
from keras_attention.ops import product


@keras.saving.register_keras_serializable(package="keras_attention")
class LocationAttention(AbstractProjectedAttention):
    """Attends to positions that the query names, whatever stands there.

    Formula:

        score(q, position j) = (q W)[j]

    There is one column of `W` per position, so positions are absolute and
    there are `max_length` of them: on a longer source the positions beyond
    get weight 0, and are never seen. On a shorter one softmax runs over the
    positions that are there.

    Args:
        max_length: How many positions can be attended to, positive.
        **kwargs: Arguments of `AbstractProjectedAttention`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)` -> context `(B, Tq, Dv)`; the
        rest as in `AbstractMemoryAttention`.

    Raises:
        ValueError: If `max_length` is not positive.

    Example:

    >>> attention = LocationAttention(max_length=50)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), eq. 8.
    """

    def __init__(self, max_length: int, **kwargs):
        super().__init__(**kwargs)
        check_integer("max_length", max_length)
        self.max_length = max_length

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.kernel = self.add_kernel(
            "kernel", (query_shape[-1], self.max_length)
        )

    def weigh(self, query, memory, mask, state, noise):
        in_reach = ops.arange(ops.shape(memory.values)[1]) < self.max_length
        mask = join_masks(mask, ops.reshape(in_reach, (1, 1, -1)))
        return super().weigh(query, memory, mask, state, noise)

    def score(self, query, keys):
        columns = ops.arange(ops.shape(keys)[1])
        columns = ops.minimum(columns, self.max_length - 1)
        return ops.take(product(query, self.kernel), columns, axis=-1)

    def get_config(self):
        return {**super().get_config(), "max_length": self.max_length}
