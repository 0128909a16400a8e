"""Metrics of tokens and of attention: weighted means over all batches."""

import keras

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.checks import missing_method
from keras_attention.checks import shapes_agree
from keras_attention.ops.numerics import TINY
from keras_attention.ops.numerics import keep_real
from keras_attention.ops.numerics import widen
from keras_attention.ops.tokens import as_targets
from keras_attention.ops.tokens import check_tokens
from keras_attention.ops.tokens import token_crossentropy
from keras_attention.ops.tokens import token_weights
from keras_attention.ops.tokens import weighted_sum


class AbstractMeanMetric(keras.metrics.Metric):
    """Sums weighted values and their weights, for a weighted mean.

    Both sums are over all batches, so that a batch of long sentences has more
    weight. A subclass defines `update_state`, which calls `add`, and `result`
    if the result is not the mean. A mask that `y_pred` carries is ignored.

    Args:
        name: Name of the metric. Defaults to that of the class.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.
    """

    def __init__(self, name: str | None = None, dtype: str | None = None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def add(self, values, weights):
        """Add values to the mean.

        Args:
            values: A tensor of any shape.
            weights: The weight of each value, of the same shape. A value with
                weight 0 may be infinite or NaN.
        """
        weights = ops.cast(weights, self.dtype)
        values = ops.cast(values, self.dtype)
        total, count = backend.sum_over_replicas(
            [weighted_sum(weights, values), ops.sum(weights)]
        )
        # Every replica adds its share of the sums of all: thus the results of
        # a batch are right in each of them.
        _, replicas = backend.replica()
        self.total.assign(self.total + total / replicas)
        self.count.assign(self.count + count / replicas)

    def mean(self):
        """Compute the mean of all values so far, a scalar; 0 without values."""
        return ops.divide_no_nan(self.total, self.count)

    def result(self):
        return self.mean()


class AbstractTokenMetric(AbstractMeanMetric):
    """Averages one number per valid token.

    A subclass defines `measure`. Padding, id 0 in `y_true`, is excluded.

    Args:
        name: Name of the metric. Defaults to that of the class.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Call arguments:
        y_true: Integer ids `(B, T)`.
        y_pred: Logits `(B, T, V)`.
        sample_weight: `(B,)`, `(B, 1)` or `(B, T)`, or `None` for 1.

    Returns:
        A scalar.

    Raises:
        ValueError: If shapes do not match.
    """

    def measure(self, y_true, logits):
        """Compute the number of each token, which `result` averages.

        Args:
            y_true: Integer ids `(B, T)`.
            logits: `(B, T, V)`.

        Returns:
            A tensor `(B, T)`; padding may have any value.
        """
        raise missing_method(self.measure)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = as_targets(y_true, y_pred)
        check_tokens(y_true, y_pred)
        weights = token_weights(y_true, sample_weight, self.dtype)
        self.add(self.measure(y_true, y_pred), weights)


@keras.saving.register_keras_serializable(package="keras_attention")
class TokenAccuracy(AbstractTokenMetric):
    """Computes the share of valid tokens that have the highest logit.

    Formula:

        accuracy = sum(w [argmax(z) = y]) / sum(w), over y_true != 0

    Under teacher forcing, each token is predicted from the correct tokens
    before it. To measure generated sequences, use `ValidationScores`. Before
    the first token, the result is 0.

    Args:
        name: Name of the metric. Defaults to `"token_accuracy"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Raises:
        ValueError: If shapes do not match.

    Example:

    >>> accuracy = TokenAccuracy()
    >>> logits = np.eye(6)[[[4, 5, 1]]]  # predicts 4, 5, 1
    >>> float(accuracy([[4, 3, 0]], logits))
    0.5
    """

    def __init__(self, name: str = "token_accuracy", dtype: str | None = None):
        super().__init__(name=name, dtype=dtype)

    def measure(self, y_true, logits):
        guesses = ops.argmax(logits, axis=-1)
        return ops.equal(ops.cast(guesses, "int32"), ops.cast(y_true, "int32"))


@keras.saving.register_keras_serializable(package="keras_attention")
class Perplexity(AbstractTokenMetric):
    """Computes the perplexity: the exponential of the mean cross-entropy.

    Formula:

        perplexity = exp(sum(w l) / sum(w)), over y_true != 0
        l = -log softmax(z)[y]

    The perplexity is the number of equally likely tokens among which a model
    would be equally uncertain: `V` for a uniform distribution, 1 for perfect
    predictions. Before the first token, the result is 1. Label smoothing of the
    loss does not affect the perplexity, so that you can compare models trained
    with and without label smoothing.

    Args:
        name: Name of the metric. Defaults to `"perplexity"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Raises:
        ValueError: If shapes do not match.

    Example:

    >>> perplexity = Perplexity()
    >>> round(float(perplexity([[4, 3, 0]], np.zeros((1, 3, 8)))), 4)
    8.0
    """

    def __init__(self, name: str = "perplexity", dtype: str | None = None):
        super().__init__(name=name, dtype=dtype)

    def measure(self, y_true, logits):
        return token_crossentropy(y_true, logits)

    def result(self):
        return ops.exp(self.mean())


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionEntropy(AbstractMeanMetric):
    """Measures how widely attention is spread over the source.

    Formula:

        entropy = mean of -sum_j p[t, j] log p[t, j], in nats, over valid t
        p[t] = a[t] / sum_j a[t, j],  0 log 0 = 0

    The entropy is 0 if each target token attends to one position, and `log(S)`
    if each target token attends to all `S` positions equally. The exponential
    of the entropy is an effective number of positions. Attention weights that
    do not sum to 1, such as those of `Monotonic` and
    `GaussianMixtureAttention`, are normalized first. A token whose weights are
    all 0 is excluded.

    Use this metric for the second output of a model that returns `(logits,
    weights)`: `compile(metrics=[[TokenAccuracy()], [AttentionEntropy()]])`. In
    `fit`, pass targets for both outputs, `(targets, targets)`, because Keras
    skips the metrics of an output without targets.

    Args:
        name: Name of the metric. Defaults to `"attention_entropy"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Call arguments:
        y_true: Target ids `(B, T)`, 0 for padding; or a matrix `(B, T, Tv)`,
            such as gold links, in which a step is valid if any element of its
            row is not 0.
        y_pred: Weights `(B, T, Tv)`.
        sample_weight: `(B,)`, `(B, 1)` or `(B, T)`, or `None` for 1.

    Raises:
        ValueError: If shapes do not match.

    Example:

    >>> entropy = AttentionEntropy()
    >>> weights = [[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]
    >>> round(float(entropy([[5, 3]], np.array(weights))), 4)  # log(2) / 2
    0.3466
    """

    def __init__(
        self, name: str = "attention_entropy", dtype: str | None = None
    ):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        _, steps, attention = _read_attention(self, y_true, y_pred)
        total = ops.sum(attention, axis=-1)
        some = total > TINY
        share = attention / ops.where(some, total, 1.0)[..., None]
        logs = ops.log(ops.maximum(share, TINY))
        weights = token_weights(steps, sample_weight, self.dtype)
        weights = ops.where(some, weights, ops.zeros_like(weights))
        self.add(-ops.sum(share * logs, axis=-1), weights)


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionCoverage(AbstractMeanMetric):
    """Measures how much of the source received attention.

    Formula:

        coverage = mean of min(c[j], 1) over all valid source positions j
        c[j] = sum of a[t, j] over valid t

    The coverage is 1 if every source position receives a total weight of at
    least 1, and low if positions are ignored. If the target is shorter than the
    source, it is below 1. A total weight above 1 counts as 1.

    Target ids do not show where the source ends. If you pass target ids, all
    positions up to the last position with any weight count as valid. This is
    exact for softmax with padding on the right. In other cases, pass a matrix.
    Use this metric in `compile` like `AttentionEntropy`.

    Args:
        name: Name of the metric. Defaults to `"attention_coverage"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Call arguments:
        y_true: Target ids `(B, T)`, 0 for padding; or a matrix `(B, T, Tv)`,
            such as gold links, in which a step is valid if any element of its
            row is not 0, and a position is valid if any element of its column
            is not 0.
        y_pred: Weights `(B, T, Tv)`.
        sample_weight: `(B,)`, `(B, 1)` or `(B, T)`, or `None` for 1. The weight
            of the positions of a sentence is the mean weight of its valid
            steps.

    Raises:
        ValueError: If shapes do not match.

    Example:

    >>> coverage = AttentionCoverage()
    >>> weights = [[[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]]
    >>> float(coverage([[5, 3]], np.array(weights)))  # (1 + .25 + .25) / 3
    0.5

    Reference:
        [Wu et al., 2016](https://arxiv.org/abs/1609.08144), eq. 14 without
        its logarithm, after
        [Tu et al., 2016](https://arxiv.org/abs/1601.04811).
    """

    def __init__(
        self, name: str = "attention_coverage", dtype: str | None = None
    ):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        pairs, steps, attention = _read_attention(self, y_true, y_pred)
        covered = ops.sum(attention, axis=1)  # (B, Tv)
        if pairs is None:
            rest = ops.flip(ops.cumsum(ops.flip(covered, 1), axis=1), 1)
            real = rest > 0
        else:
            real = ops.any(pairs, axis=1)
        weights = token_weights(steps, sample_weight, self.dtype)
        number = ops.sum(ops.cast(steps, self.dtype), axis=1, keepdims=True)
        weight = ops.sum(weights, axis=1, keepdims=True)
        weight = ops.divide_no_nan(weight, number)  # (B, 1)
        self.add(ops.minimum(covered, 1.0), ops.cast(real, self.dtype) * weight)


def _read_attention(metric, y_true, y_pred):
    """Check shapes, and determine which steps and positions are valid.

    Returns:
        Valid pairs, boolean `(B, T, Tv)`, or `None` if unknown; valid steps,
        int32 `(B, T)`; and the weights `(B, T, Tv)` in float32 or wider, 0 at
        masked steps.
    """
    y_true, attention = as_targets(y_true, y_pred)
    given, needed = tuple(y_true.shape), tuple(attention.shape)
    fits = shapes_agree(given, needed[: len(given)])
    if len(needed) != 3 or len(given) < 2 or not fits:
        raise ValueError(
            f"{type(metric).__name__} needs weights (B, T, Tv), and target ids "
            f"(B, T) or links (B, T, Tv). Received: y_true.shape={given}, "
            f"y_pred.shape={needed}. Use it for the second output of a model."
        )
    real = ops.not_equal(y_true, 0)
    steps = ops.any(real, axis=-1) if len(given) == 3 else real
    attention = keep_real(widen(attention), steps)
    pairs = real if len(given) == 3 else None
    return pairs, ops.cast(steps, "int32"), attention
