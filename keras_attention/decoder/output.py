"""What a step gives: what state and context say together."""

import keras
from keras import ops

from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_loadable
from keras_attention.layers.kernels import AbstractKernelLayer
from keras_attention.ops import product

OUTPUTS = ("auto", "cell", "attention", "concat")


class AbstractAttentionalLayer(AbstractKernelLayer):
    """Joins a state and its contexts into one attentional vector.

    Formula:

        h = activation([s; c] W), or h = c without a layer size

    Args:
        attention_layer_size: Size of `h`, or `None` for no layer. Defaults to
            `None`.
        attention_activation: The activation. Defaults to `"tanh"`.
        attention_use_bias: Whether there is a bias. Defaults to `False`.
        output: What comes out, one of `OUTPUTS`. Defaults to `"auto"`.
        **kwargs: Arguments of `AbstractKernelLayer`, for `W`.

    Raises:
        ValueError: If the size is not positive, the activation a lambda, or
            there is no such output.

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), eq. 5.
    """

    def __init__(
        self,
        attention_layer_size: int | None = None,
        attention_activation="tanh",
        attention_use_bias: bool = False,
        output: str = "auto",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_choice("output", output, OUTPUTS)
        self._output = output  # `output` is a property of Keras layers
        if attention_layer_size is not None:
            check_integer("attention_layer_size", attention_layer_size)
        self.attention_layer_size = attention_layer_size
        self.attention_activation = keras.activations.get(attention_activation)
        check_loadable("attention_activation", self.attention_activation)
        self.attention_use_bias = attention_use_bias

    def add_attentional_layer(self, size, context_size):
        """Make its weights, and tell the sizes of its outputs.

        Args:
            size: Of the state `s`.
            context_size: Of all contexts together, 0 if there are none.
        """
        self.attentional_size = self.attention_layer_size or context_size
        self.output_size = {
            "cell": size,
            "attention": self.attentional_size,
            "concat": size + context_size,
        }[self._resolve_output(context_size)]
        if not self.attention_layer_size:
            return
        self.attention_kernel = self.add_kernel(
            "attention_kernel", (size + context_size, self.attention_layer_size)
        )
        if self.attention_use_bias:
            self.attention_bias = self.add_weight(
                name="attention_bias",
                shape=(self.attention_layer_size,),
                initializer="zeros",
                autocast=False,
            )

    def answer(self, s, contexts):
        """Join a state and its contexts.

        Args:
            s: `(..., U)`.
            contexts: List of `(..., Dv)`, which may be empty.

        Returns:
            The output, and the attentional vector, `None` without a context.
        """
        both = ops.concatenate([s, *contexts], axis=-1)
        attentional = self._attentional_vector(both, contexts)
        outputs = {"cell": s, "attention": attentional, "concat": both}
        return outputs[self._resolve_output(contexts)], attentional

    def _resolve_output(self, contexts):
        if not contexts:
            return "cell"
        if self._output != "auto":
            return self._output
        return "attention" if self.attention_layer_size else "concat"

    def _attentional_vector(self, both, contexts):
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
            "output": self._output,
        }
        return {**super().get_config(), **own}
