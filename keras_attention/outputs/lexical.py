"""Lexical translation: scores of target tokens from source tokens alone."""

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_rate
from keras_attention.checks import check_shape
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Dropout
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import mix
from keras_attention.ops import product
from keras_attention.ops.numerics import tanh
from keras_attention.outputs.base import AbstractOutput
from keras_attention.outputs.dense import rows_of


@keras.saving.register_keras_serializable(package="keras_attention")
class LexicalTranslation(AbstractKernelLayer):
    """Scores target tokens from the embeddings of attended source tokens.

    Formula:

        logits = h U + b
        h = tanh(f W + c) + f
        f = tanh(sum_j a_j x_j)

    Here `a` are the attention weights and `x` the embedded source tokens. A
    decoder receives source tokens only through a recurrent layer, mixed with
    its own state. Therefore, it can easily confuse a rare word with a similar
    word. The logits of this layer depend only on the attended tokens, and are
    added to the logits of the decoder.

    Args:
        vocabulary_size: Number `V` of target ids.
        dropout: Rate at which `h` is dropped in training. Defaults to `0.0`.
        kernel_initializer: Initializer of `W` and `U`. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of `W` and `U`. Defaults to `None`.
        kernel_constraint: Constraint of `W` and `U`. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        weights: Weights of the decoder's attention, `(B, T, Tv)`.
        words: Embedded source tokens, `(B, Tv, E)`.
        training: Whether to apply dropout.

    Returns:
        Logits `(B, T, V)`.

    Raises:
        ValueError: If `vocabulary_size` is not positive, `dropout` is not in
            `[0, 1)`, or, when called, if the numbers of weights and source
            tokens differ.

    Example:

    >>> layer = LexicalTranslation(6)
    >>> weights = np.array([[[0.75, 0.25, 0.0]]])
    >>> tuple(layer(weights, np.ones((1, 3, 4))).shape)
    (1, 1, 6)

    Reference:
        [Nguyen & Chiang, 2018](https://arxiv.org/abs/1710.01329), section 4.
    """

    def __init__(
        self,
        vocabulary_size: int,
        *,
        dropout: float = 0.0,
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
        self.vocabulary_size = check_integer("vocabulary_size", vocabulary_size)
        self.dropout = check_rate("dropout", dropout)
        self.drop = Dropout(dropout, dtype=self.dtype_policy)

    def build(self, weights_shape, words_shape):
        size = words_shape[-1]
        self.kernel = self.add_kernel("kernel", (size, size))
        self.bias = self.add_bias("bias", size)
        shape = size, self.vocabulary_size
        self.output_kernel = self.add_kernel("output_kernel", shape)
        self.output_bias = self.add_bias("output_bias", self.vocabulary_size)

    def call(self, weights, words, training: bool | None = None):
        features = self.drop(self.features(weights, words), training=training)
        bias = ops.cast(self.output_bias, features.dtype)
        return product(features, self.output_kernel) + bias

    def features(self, weights, words):
        """Compute `h`, the input of the last product.

        Args:
            weights: `(B, T, Tv)`.
            words: `(B, Tv, E)`.

        Returns:
            `(B, T, E)`.
        """
        _check_places(weights.shape, words.shape)
        words = ops.cast(words, self.compute_dtype)
        attended = tanh(mix(ops.cast(weights, self.compute_dtype), words))
        bias = ops.cast(self.bias, attended.dtype)
        return tanh(product(attended, self.kernel) + bias) + attended

    def compute_output_shape(self, weights_shape, words_shape) -> tuple:
        _check_places(weights_shape, words_shape)
        return (*weights_shape[:-1], self.vocabulary_size)


def _check_places(weights_shape, words_shape):
    needs = "LexicalTranslation needs a weight for each source token"
    way_out = "Use an encoder that keeps the length."
    wanted = (*weights_shape[:-1], words_shape[1])
    check_shape(needs, "weights", weights_shape, wanted, way_out)


class LexicalOutput(AbstractOutput):
    """Adds the scores of a `LexicalTranslation` to those of another output.

    Args:
        output: The other output.
        translation: The layer, which is owned by the model.
        **kwargs: Keras layer arguments, such as `dtype`.
    """

    attends = True
    needs_end = (
        "reads the tokens of the whole source at every step",
        "Build the model without `lexical`.",
    )
    argument = "lexical=True"
    reads_words = True

    def __init__(
        self, output: AbstractOutput, translation: LexicalTranslation, **kwargs
    ):
        super().__init__(**kwargs)
        self.output_part = output
        self.translation = translation
        self.probabilities = output.probabilities

    def prepare(self, source):
        return self.output_part.prepare(source), source.words

    def call(self, decoded, prepared, training=None):
        scores, _ = self.output_part.call(decoded, prepared[0], training)
        return self._add(scores, decoded, prepared, training), None

    def step(self, decoded, state, prepared):
        scores, *_ = self.output_part.step(decoded, state, prepared[0])
        return self._add(scores, decoded, prepared), None, state

    def _add(self, scores, decoded, prepared, training=False):
        weights, words = decoded.mean_weights(), prepared[1]
        return scores + self.translation(weights, words, training=training)

    def refuse_list(self):
        return self.output_part.refuse_list()

    def features(self, decoded, prepared):
        inner, words = prepared
        outputs = self.output_part.features(decoded, inner)
        lexical = self.translation.features(decoded.mean_weights(), words)
        dtype = self.compute_dtype
        return ops.concatenate(
            [ops.cast(outputs, dtype), ops.cast(lexical, dtype)], axis=-1
        )

    def rows(self, ids):
        kernel, bias = self.output_part.rows(ids)
        layer = self.translation
        lexical, more = rows_of(
            layer.output_kernel, layer.output_bias, ids, self.compute_dtype
        )
        return ops.concatenate([kernel, lexical], axis=-1), bias + more
