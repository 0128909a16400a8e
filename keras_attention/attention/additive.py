"""The base of the attention layers whose score is a small network's."""

from keras_attention.attention.projected import AbstractProjectedAttention
from keras_attention.checks import check_integer


class AbstractAdditiveAttention(AbstractProjectedAttention):
    """Projects query and keys to one size, and holds a vector for their sum.

    Args:
        units: Size of the network's hidden layer, positive.
        **kwargs: Arguments of `AbstractProjectedAttention`.

    Raises:
        ValueError: If `units` is not positive.
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        check_integer("units", units)
        self.units = units

    def build(self, query_shape, value_shape, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        key_shape = key_shape or value_shape
        self.query_kernel = self.add_kernel(
            "query_kernel", (query_shape[-1], self.units)
        )
        self.key_kernel = self.add_kernel(
            "key_kernel", (key_shape[-1], self.units)
        )
        self.score_vector = self.add_kernel("score_vector", (self.units,))

    def add_bias(self):
        self.bias = self.add_weight(
            name="bias",
            shape=(self.units,),
            initializer="zeros",
            autocast=False,
        )

    def get_config(self):
        return {**super().get_config(), "units": self.units}
