"""The attentional layer: what state and context say together."""

import keras
from keras import ops

from keras_attention.checks import check_loadable
from keras_attention.checks import check_positive
from keras_attention.kernels import AbstractKernelLayer
from keras_attention.ops import product


class AbstractAttentionalLayer(AbstractKernelLayer):
    """Joins a state and its contexts into one attentional vector.

    Formula:
        h = activation([s; c] W), or h = c without a layer size

    Args:
        attention_layer_size: Size of `h`, or `None` for no layer. Defaults to
            `None`.
        attention_activation: The activation. Defaults to `"tanh"`.
        attention_use_bias: Whether there is a bias. Defaults to `False`.
        **kwargs: Arguments of `AbstractKernelLayer`, for `W`.

    Raises:
        ValueError: If the size is not positive, or the activation a lambda.

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), eq. 5.
    """

    def __init__(
        self,
        attention_layer_size: int | None = None,
        attention_activation="tanh",
        attention_use_bias: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if attention_layer_size is not None:
            check_positive("attention_layer_size", attention_layer_size)
        self.attention_layer_size = attention_layer_size
        self.attention_activation = keras.activations.get(attention_activation)
        check_loadable("attention_activation", self.attention_activation)
        self.attention_use_bias = attention_use_bias

    def add_attentional_layer(self, size):
        if not self.attention_layer_size:
            return
        self.attention_kernel = self.add_kernel(
            "attention_kernel", (size, self.attention_layer_size)
        )
        if self.attention_use_bias:
            self.attention_bias = self.add_weight(
                name="attention_bias",
                shape=(self.attention_layer_size,),
                initializer="zeros",
                autocast=False,
            )

    def attentional_vector(self, both, contexts):
        if not self.attention_layer_size:
            return ops.concatenate(contexts, axis=-1) if contexts else None
        x = product(both, self.attention_kernel)
        if self.attention_use_bias:
            x = x + ops.cast(self.attention_bias, x.dtype)
        return self.attention_activation(x)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        own = {
            "attention_layer_size": self.attention_layer_size,
            "attention_activation": serialize(self.attention_activation),
            "attention_use_bias": self.attention_use_bias,
        }
        return {**super().get_config(), **own}
