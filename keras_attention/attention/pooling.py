"""Attention pooling: the weighted mean of a sequence."""

import keras

from keras_attention.attention.memory import as_mask
from keras_attention.attention.memory import real_sequence
from keras_attention.attention.memory import shape_of
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_rate
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import masked_softmax
from keras_attention.ops import mix
from keras_attention.ops import product
from keras_attention.ops.numerics import tanh
from keras_attention.ops.numerics import widen
from keras_attention.ops.replicas import own_seed


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionPooling(AbstractKernelLayer):
    """Averages a sequence with weights computed from its own vectors.

    Formula:

        weights = softmax over the valid positions of v . tanh(W h)
        pooled = sum_t weights[t] h[t]

    The layer has no query: the learned vector `v`, which is the same for all
    sequences, takes its place. If every position of a sequence is masked, its
    result is zeros.

    Args:
        units: Size of the network's hidden layer, positive.
        dropout: Rate in `[0, 1)` at which attention weights are dropped in
            training; the remaining weights are scaled up. Defaults to `0.0`.
        seed: Integer random seed for dropout. Defaults to `None`.
        kernel_initializer: Initializer of every kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of every kernel. Defaults to `None`.
        kernel_constraint: Constraint of every kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        x: `(B, T, D)`.
        mask: Boolean `(B, T)`, `True` at valid positions. Keras fills it in
            when `x` carries one. If the mask has more axes, such as `(B, T,
            words)` for sentences after `TimeDistributed`, a position is valid
            if any of its parts is valid.
        training: Whether to apply dropout.
        return_attention_scores: Whether to return the weights (before dropout)
            as well.

    Returns:
        pooled: `(B, D)`.
        weights: `(B, T)`, on request.

    Raises:
        ValueError: If `units` is not positive, or `dropout` is not in `[0, 1)`.

    Example:

    >>> layer = AttentionPooling(16)
    >>> tuple(layer(np.ones((2, 9, 8))).shape)
    (2, 8)

    Hierarchical attention over the words of a sentence and the sentences of a
    document. Specify the number of sentences: if it is unknown,
    `TimeDistributed` of Keras 3.15 uses the batch size instead.

    >>> documents = keras.Input((12, None, 8))  # 12 sentences of words
    >>> sentences = TimeDistributed(AttentionPooling(16))(documents)
    >>> AttentionPooling(16)(sentences).shape
    (None, 8)

    Reference:
        [Yang et al., 2016](https://aclanthology.org/N16-1174/), eqs. 5 to 7,
        without the bias.
    """

    def __init__(
        self,
        units: int,
        dropout: float = 0.0,
        seed: int | None = None,
        *,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        self.units = check_integer("units", units)
        self.dropout = check_rate("dropout", dropout)
        self.seed = seed
        if dropout:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, x_shape):
        self.kernel = self.add_kernel("kernel", (x_shape[-1], self.units))
        self.score_vector = self.add_kernel("score_vector", (self.units,))

    def call(
        self,
        x,
        mask=None,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ):
        axes = tuple(range(2, len(shape_of(mask))))
        if axes:
            mask = ops.any(as_mask(mask), axis=axes)
        x, mask = real_sequence(self, "x", x, mask, "(B, T, D)")
        hidden = widen(tanh(product(x, self.kernel)))
        vector = ops.cast(self.score_vector, hidden.dtype)
        scores = ops.sum(hidden * vector, axis=-1)  # (B, T)
        weights = ops.cast(masked_softmax(scores, mask), self.compute_dtype)
        kept = weights
        if training and self.dropout:
            seed = own_seed(self.seed_generator)
            kept = keras.random.dropout(weights, self.dropout, seed=seed)
        pooled = ops.squeeze(mix(ops.expand_dims(kept, 1), x), axis=1)
        return (pooled, weights) if return_attention_scores else pooled

    def compute_output_shape(self, x_shape) -> tuple:
        return (x_shape[0], x_shape[-1])

    def compute_output_spec(self, *args, **kwargs):
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

    def compute_mask(self, x, previous_mask=None):
        return None
