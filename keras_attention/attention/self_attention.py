"""Self-attention: a sequence attends to itself, globally or in a window."""

import keras

from keras_attention.attention.base import AbstractAttention
from keras_attention.attention.memory import real_sequence
from keras_attention.backend import ops
from keras_attention.checks import check_object
from keras_attention.checks import check_size
from keras_attention.layers import AbstractConfigured
from keras_attention.layers import AbstractDenseLayer


@keras.saving.register_keras_serializable(package="keras_attention")
class SelfAttention(AbstractConfigured, AbstractDenseLayer):
    """Attends from every position of a sequence to the same sequence.

    Formula:

        query = key = value = x
        window: i - width // 2 <= j <= i - width // 2 + width - 1
        causal window: i - width + 1 <= j <= i

    A window of even width includes one more position before `i` than after it.
    The window is a mask, so that a narrow window is not faster. If a window
    contains only padding, its context is zeros. Queries at padding are zeros.

    Args:
        attention: Any attention layer of this package.
        width: Number of positions in the window, or `None` for all. Defaults
            to `None`.
        causal: Whether a position attends only to itself and to earlier
            positions. Defaults to `False`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        x: `(B, T, D)`.
        mask: Boolean `(B, T)`, `True` at valid positions. Keras fills it in
            when `x` carries one.
        training: Whether to apply dropout and noise of `attention`.
        return_attention_scores: Whether to return the weights as well; can be
            `"heads"` if `attention` is a `MultiHead`.

    Returns:
        context: `(B, T, D)`.
        weights: `(B, T, T)`, on request; `(B, H, T, T)` with `"heads"`.

    Raises:
        ValueError: If `attention` is not an attention layer, or if `width` is
            not positive.

    Example:

    >>> layer = SelfAttention(BahdanauAttention(16), width=5)
    >>> tuple(layer(np.ones((2, 9, 8))).shape)
    (2, 9, 8)

    Reference:
        [Cheng et al., 2016](https://arxiv.org/abs/1601.06733), section 3.1.
    """

    def __init__(
        self,
        attention: AbstractAttention,
        width: int | None = None,
        causal: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        way_out = "Try BahdanauAttention(64)."
        check_object("attention", attention, AbstractAttention, way_out)
        self.attention = attention
        self.width = check_size("width", width)
        self.causal = causal
        self.supports_masking = True

    def build(self, x_shape):
        if not self.attention.built:
            self.attention.build(x_shape, x_shape)

    def call(
        self,
        x,
        mask=None,
        training: bool | None = None,
        return_attention_scores: bool | str = False,
    ):
        x, mask = real_sequence(self, "x", x, mask, "(B, T, D)")
        return self.attention(
            x,
            x,
            query_mask=mask,
            value_mask=mask,
            attention_mask=self._window(ops.shape(x)[1]),
            return_attention_scores=return_attention_scores,
            training=training,
            use_causal_mask=self.causal,
        )

    def _window(self, length):
        """Return the window's mask `(T, T)`, or `None` for all positions."""
        if self.width is None:
            return None
        positions = ops.arange(length, dtype="int32")
        ahead = positions - ops.expand_dims(positions, 1)  # j - i
        first = 1 - self.width if self.causal else -(self.width // 2)
        return ops.logical_and(ahead >= first, ahead < first + self.width)

    def compute_output_shape(self, x_shape) -> tuple:
        return self.attention.compute_output_shape(x_shape, x_shape)

    def compute_output_spec(
        self,
        x,
        mask=None,
        training: bool | None = None,
        return_attention_scores: bool | str = False,
    ):
        return self.attention.compute_output_spec(
            x, x, return_attention_scores=return_attention_scores
        )
