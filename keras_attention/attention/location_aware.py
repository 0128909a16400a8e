"""Location-aware attention: scores depend on the weights of earlier steps."""

import keras

from keras_attention.alignments import AbstractAlignment
from keras_attention.attention.base import AbstractAttention
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import featured_additive_scores
from keras_attention.ops import product
from keras_attention.ops.rows import reshaped


@keras.saving.register_keras_serializable(package="keras_attention")
class LocationAwareAttention(AbstractKernelLayer, AbstractAttention):
    """Attends by an additive score that includes earlier weights.

    Formula:

        score(q, k_j) = v . tanh(q Wq + k_j Wk + f_j Wf + b)
        f = F * a, a convolution of the weights of the previous step

    Before the first step, `a` is uniform over the valid positions. With
    `cumulative`, `a` is the sum of the weights of all earlier steps and of
    these uniform weights. Beyond the ends of the source, `a` is 0. The
    convolution is computed in float32 or wider.

    Choose `kernel_size` so that a filter spans the distance that the attention
    moves in a few steps. If the source consists of words, 5 positions are
    enough. Chorowski et al. use 10 filters of 201 positions for speech with 100
    frames per second. Tacotron 2 uses `LocationAwareAttention(128, 32, 31,
    cumulative=True)`.

    Args:
        units: Size of the network's hidden layer, positive.
        filters: Number of filters in `F`, positive.
        kernel_size: Number of positions that each filter spans, positive.
            If it is odd, a filter is centered on its position.
        cumulative: Whether `a` is the sum of the weights of all earlier steps.
            Defaults to `False`.
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
        ValueError: If `units`, `filters` or `kernel_size` is not positive.

    Example:

    >>> attention = LocationAwareAttention(16, filters=4, kernel_size=5)
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Chorowski et al., 2015](https://arxiv.org/abs/1506.07503), eqs. 8
        and 9; [Shen et al., 2018](https://arxiv.org/abs/1712.05884), section
        2.2 (Tacotron 2).
    """

    remembers = True

    def __init__(
        self,
        units: int,
        filters: int,
        kernel_size: int,
        cumulative: bool = False,
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
        self.units = check_integer("units", units)
        self.filters = check_integer("filters", filters)
        self.kernel_size = check_integer("kernel_size", kernel_size)
        self.cumulative = cumulative
        self.score_margin = self.kernel_size // 2

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
        self.bias = self.add_bias("bias", self.units)
        self.location_filters = self.add_kernel(
            "location_filters", (self.kernel_size, 1, self.filters)
        )
        self.location_kernel = self.add_kernel(
            "location_kernel", (self.filters, self.units)
        )

    def project_query(self, query):
        return product(query, self.query_kernel)  # (B, K, U)

    def project_keys(self, key):
        keys = product(key, self.key_kernel)
        return keys + ops.cast(self.bias, keys.dtype)

    def score(self, query, keys, history):
        features = ops.cast(self.features(history), keys.dtype)
        keys = ops.expand_dims(keys, 1) + features  # (B, K, Tv, U)
        return featured_additive_scores(query, keys, self.score_vector)

    def first_history(self, real):
        count = ops.sum(real, axis=-1, keepdims=True)
        return real / ops.maximum(count, 1.0)

    def next_history(self, history, weights):
        weights = ops.cast(weights, history.dtype)
        return history + weights if self.cumulative else weights

    def features(self, history):
        """Compute the term of the score that depends on earlier weights.

        Args:
            history: The weights `a`, `(B, K, Tv)`.

        Returns:
            `f_j Wf`, `(B, K, Tv, U)`.
        """
        batch, beams, words = ops.shape(history)
        rows, size = batch * beams, self.kernel_size
        # With one more position, so that an empty source can be convolved.
        around = ((size - 1) // 2, size // 2 + 1)
        padded = ops.pad(
            reshaped(history, (rows, words, 1)), ((0, 0), around, (0, 0))
        )
        features = ops.conv(
            padded,
            ops.cast(self.location_filters, history.dtype),
            padding="valid",
            data_format="channels_last",
        )[:, :-1]
        # oneDNN gives a result without rows the shape of what is convolved.
        features = ops.reshape(features, (-1, self.filters))
        features = product(features, self.location_kernel)
        return reshaped(features, (batch, beams, words, self.units))
