"""The base of the attention layers whose scores need kernels."""

from keras_attention.attention.base import AbstractAttention
from keras_attention.layers.kernels import AbstractKernelLayer


class AbstractProjectedAttention(AbstractKernelLayer, AbstractAttention):
    """Attends by scores that learned kernels take part in.

    Args:
        **kwargs: Arguments of `AbstractKernelLayer`, such as
            `kernel_initializer`, and of `AbstractAttention`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
