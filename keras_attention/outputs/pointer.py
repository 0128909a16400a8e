"""Pointer-generator: copies source tokens, including unknown ones."""

import math
from typing import Any
from typing import NamedTuple

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import mix
from keras_attention.ops import product
from keras_attention.ops import wide_dtype
from keras_attention.ops.numerics import MASKED
from keras_attention.outputs.base import AbstractOutput

IMPOSSIBLE = -30.0  # log probability of 1e-13, too small to change a sum


class _Copies(NamedTuple):
    """The tokens of a source that can be copied.

    Attributes:
        ids: `(B, Tv)`, int32: the token at each position, from 0 to `V - 1`; 0
            if it is not in the vocabulary.
        same: `(B, Tv, Tv)`, 1.0 where two positions hold the same token.
        listed: Boolean `(B, Tv)`, `True` at the first position of each token in
            the vocabulary.
        own: Boolean `(B, Tv)`, `True` at the first position of each token that
            is not in the vocabulary.
    """

    ids: Any
    same: Any
    listed: Any
    own: Any


@keras.saving.register_keras_serializable(package="keras_attention")
class PointerGenerator(AbstractKernelLayer):
    """Mixes a distribution over the vocabulary with one over the source.

    Formula:

        p(w) = g softmax(z)[w] + (1 - g) sum of a_j over all j with x_j = w
        g = sigmoid([s; c; y] W + b)

    `g` is the probability of generating a token from the vocabulary; otherwise
    a source token is copied, with the attention weights `a` as probabilities.
    Source and target share one vocabulary of `V` entries. A source token that
    is not in the vocabulary has the id `V + j`, where `j` is the first position
    of the token. It can therefore be copied, and differs from other unknown
    tokens. `parallel_dataset(..., copying=True)` returns these ids.

    If attention weights sum to less than 1, as with a monotonic alignment, the
    probabilities also sum to less than 1. Use the outputs as logits: a softmax
    normalizes them.

    Args:
        vocabulary_size: Vocabulary size `V`.
        kernel_initializer: Initializer of `W`. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of `W`. Defaults to `None`.
        kernel_constraint: Constraint of `W`. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        logits: Logits `z` of generated tokens, `(B, T, V)`.
        features: Inputs of the gate `g`, `(B, T, D)`: the decoder's output and
            input, `[s; c; y]` in the paper.
        weights: Weights of the decoder's attention, `(B, T, Tv)`.
        source: Ids `(B, Tv)`, from 0 to `V + Tv - 1`; 0 is padding.

    Returns:
        Log probabilities `(B, T, V + Tv)` in float32 or wider. An id beyond `V`
        that does not occur in the source gets -30, a probability of 1e-13,
        instead of `-inf`, because label smoothing averages over all ids.

    Raises:
        ValueError: If `vocabulary_size` is not positive.

    Example:

    >>> layer = PointerGenerator(4)
    >>> logits, features = np.zeros((1, 1, 4)), np.zeros((1, 1, 3))
    >>> weights = np.array([[[0.75, 0.25, 0.0]]])
    >>> source = np.array([[4, 3, 4]])  # 4 is V + 0: a word of its own
    >>> p = ops.exp(layer(logits, features, weights, source))
    >>> p = ops.convert_to_numpy(p)
    >>> p.round(3).tolist()  # half is generated, half copied
    [[[0.125, 0.125, 0.125, 0.25, 0.375, 0.0, 0.0]]]

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eqs. 8 and 9.
    """

    def __init__(
        self,
        vocabulary_size: int,
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
        self.vocabulary_size = check_integer("vocabulary_size", vocabulary_size)

    def build(self, logits_shape, features_shape):
        self.kernel = self.add_kernel("kernel", (features_shape[-1], 1))
        self.bias = self.add_bias("bias", 1)

    def call(self, logits, features, weights, source):
        return self.mix(logits, features, weights, self.prepare(source))

    def prepare(self, source):
        """Find the tokens that can be copied, once for all decoder steps.

        Args:
            source: Ids `(B, Tv)`, from 0 to `V + Tv - 1`; 0 is padding.

        Returns:
            Tensors for `mix`.
        """
        source = ops.cast(ops.convert_to_tensor(source), "int32")
        same = ops.equal(ops.expand_dims(source, 2), ops.expand_dims(source, 1))
        places = ops.arange(ops.shape(source)[1], dtype="int32")
        earlier = ops.expand_dims(places, 1) > places
        repeated = ops.any(ops.logical_and(same, earlier), axis=-1)
        first = ops.logical_and(ops.logical_not(repeated), source > 0)
        known = source < self.vocabulary_size
        return _Copies(
            ids=ops.where(known, source, 0),
            same=ops.cast(same, wide_dtype(self.compute_dtype)),
            listed=ops.logical_and(first, known),
            own=ops.logical_and(first, ops.logical_not(known)),
        )

    def mix(
        self,
        logits,
        features,
        weights,
        copies,
        impossible: float = IMPOSSIBLE,
    ):
        """Compute the result of a call from a prepared source.

        Args:
            logits: `(B, T, V)`.
            features: `(B, T, D)`.
            weights: `(B, T, Tv)`.
            copies: What `prepare` returned.
            impossible: Log probability of ids beyond `V` that do not occur in
                the source. Defaults to -30.

        Returns:
            Log probabilities `(B, T, V + Tv)`.
        """
        dtype = wide_dtype(self.compute_dtype)
        gate = product(ops.cast(features, dtype), self.kernel)
        gate = gate + ops.cast(self.bias, dtype)
        generated = ops.log_softmax(ops.cast(logits, dtype), axis=-1)
        generated = generated + ops.log_sigmoid(gate)
        attended = mix(ops.cast(weights, dtype), copies.same)
        is_seen = attended > 0
        copied = ops.log(ops.where(is_seen, attended, 1.0))
        copied = copied + ops.log_sigmoid(-gate)  # (B, T, Tv)
        own = ops.logical_and(ops.expand_dims(copies.own, 1), is_seen)
        own = ops.where(own, copied, impossible)
        all_words = ops.concatenate([generated, own], axis=-1)
        listed = ops.logical_and(ops.expand_dims(copies.listed, 1), is_seen)
        return _add_copied(all_words, copied, listed, copies)

    def compute_output_shape(
        self, logits_shape, features_shape, weights_shape, source_shape
    ) -> tuple:
        words, places = self.vocabulary_size, source_shape[1]
        total = None if places is None else words + places
        return (*logits_shape[:-1], total)

    def compute_output_spec(self, *args, **kwargs):
        return keras.Operation.compute_output_spec(self, *args, **kwargs)


class PointerOutput(AbstractOutput):
    """Mixes the distribution of another output with one over source tokens.

    Args:
        output: The other output.
        pointer: The `PointerGenerator`, which is owned by the model.
        **kwargs: Keras layer arguments, such as `dtype`.
    """

    attends = True
    needs_end = (
        "numbers the unknown tokens of the whole source",
        "Build the model without `copying`.",
    )
    argument = "copying=True"
    source_ids = True

    def __init__(
        self, output: AbstractOutput, pointer: PointerGenerator, **kwargs
    ):
        super().__init__(**kwargs)
        self.output_part = output
        self.pointer = pointer
        self.reads_words = output.reads_words

    def prepare(self, source):
        inner = self.output_part.prepare(source)
        return inner, self.pointer.prepare(source.ids)

    def call(self, decoded, prepared, training=None):
        scores, _ = self.output_part.call(decoded, prepared[0], training)
        return self._mix(scores, decoded, prepared[1], IMPOSSIBLE), None

    def step(self, decoded, state, prepared):
        scores, *_ = self.output_part.step(decoded, state, prepared[0])
        return self._mix(scores, decoded, prepared[1], -math.inf), None, state

    def _mix(self, scores, decoded, copies, impossible):
        features = [decoded.outputs, decoded.words]
        features = ops.concatenate(features, axis=-1)
        if not self.pointer.built:
            self.pointer.build(scores.shape, features.shape)
        return self.pointer.mix(
            scores, features, decoded.mean_weights(), copies, impossible
        )

    def size(self, vocabulary_size, source_length):
        known = source_length is not None
        return vocabulary_size + source_length if known else None


def _add_copied(all_words, copied, listed, copies):
    """Add the probability of copying a token to that of generating it.

    A position with nothing to add writes back its own column beyond `V`, so
    that no two positions write to the same column.

    Args:
        all_words: Log probabilities `(B, T, V + Tv)`.
        copied: Log probabilities `(B, T, Tv)`.
        listed: Boolean `(B, T, Tv)`, `True` once for each token to add.
        copies: What `prepare` returned.

    Returns:
        Log probabilities `(B, T, V + Tv)`.
    """
    batch, steps, total = ops.shape(all_words)
    words = ops.shape(copies.ids)[1]
    columns = ops.arange(words, dtype="int32") + (total - words)
    columns = ops.where(copies.listed, copies.ids, columns)  # (B, Tv)
    rows = ops.arange(batch * steps, dtype="int32")
    rows = ops.reshape(rows * total, (batch, steps, 1))
    places = ops.reshape(rows + ops.expand_dims(columns, 1), (-1,))
    flat = ops.reshape(all_words, (-1,))
    before = ops.reshape(ops.take(flat, places), (batch, steps, words))
    # log(e^b + e^c) - b; finite, since ONNX multiplies it by 0 in `where`.
    gain = -ops.log_sigmoid(ops.clip(before - copied, MASKED, -MASKED))
    after = ops.reshape(before + ops.where(listed, gain, 0.0), (-1,))
    flat = ops.scatter_update(flat, ops.expand_dims(places, 1), after)
    return ops.reshape(flat, (batch, steps, total))
