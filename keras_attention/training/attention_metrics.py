"""Metrics of attention weights, over the real tokens of all batches."""

import keras
from keras import ops

from keras_attention.ops.numerics import TINY
from keras_attention.ops.numerics import keep_real
from keras_attention.ops.numerics import widen
from keras_attention.ops.tokens import token_weights
from keras_attention.training.mean_metric import AbstractMeanMetric


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionEntropy(AbstractMeanMetric):
    """Measures how widely attention is spread over the source.

    Formula:

        entropy = mean of -sum_j p[t, j] log p[t, j], in nats, over real t
        p[t] = a[t] / sum_j a[t, j],  0 log 0 = 0

    It is 0 if each target token attends to one position, and `log(S)` if it
    attends to all `S` equally: its exponential is a number of positions.
    Weights that do not sum to 1, such as those of `Monotonic` and
    `GaussianMixtureAttention`, are scaled first. A token that attends to
    nothing has no entropy and does not count.

    It belongs to the second output of a model that returns `(logits,
    weights)`: `compile(metrics=[[TokenAccuracy()], [AttentionEntropy()]])`.
    In `fit`, give targets to both outputs, `(targets, targets)`: Keras leaves
    out the metrics of an output that has none.

    Args:
        name: Name of the metric. Defaults to `"attention_entropy"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Call arguments:
        y_true: Target ids `(B, T)`, 0 for padding. Or a matrix `(B, T, Tv)`,
            such as gold links: then a step is real if any entry of its row is
            not 0.
        y_pred: Weights `(B, T, Tv)`.
        sample_weight: `(B,)`, `(B, 1)` or `(B, T)`, or `None` for 1.

    Raises:
        ValueError: If shapes do not fit.

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

    def result(self):
        return self.mean()


@keras.saving.register_keras_serializable(package="keras_attention")
class AttentionCoverage(AbstractMeanMetric):
    """Measures how much of the source received attention.

    Formula:

        coverage = mean of min(c[j], 1) over all real source positions j
        c[j] = sum of a[t, j] over real t

    It is 1 if every source position receives a total weight of 1 or more, and
    low if words are left out. It stays below 1 where the target is shorter
    than the source. More weight than 1 adds nothing.

    Target ids do not say where the source ends. With them, the real positions
    are those up to the last with any weight, which is exact for softmax and
    padding on the right. Otherwise give a matrix. In `compile` it goes where
    `AttentionEntropy` goes.

    Args:
        name: Name of the metric. Defaults to `"attention_coverage"`.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.

    Call arguments:
        y_true: Target ids `(B, T)`, 0 for padding. Or a matrix `(B, T, Tv)`,
            such as gold links: then steps and positions are real if any
            entry of their row or column is not 0.
        y_pred: Weights `(B, T, Tv)`.
        sample_weight: `(B,)`, `(B, 1)` or `(B, T)`, or `None` for 1. The
            positions of a sentence count as the mean of its real steps.

    Raises:
        ValueError: If shapes do not fit.

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

    def result(self):
        return self.mean()


def _read_attention(metric, y_true, y_pred):
    """Check shapes, and find out what is real.

    Returns:
        Real pairs, boolean `(B, T, Tv)`, or `None` if they are not known;
        real steps, int32 `(B, T)`; and the weights `(B, T, Tv)` in float32 or
        wider, 0 at steps that are not real.
    """
    y_true = ops.convert_to_tensor(y_true)
    attention = ops.convert_to_tensor(y_pred)
    given, needed = tuple(y_true.shape), tuple(attention.shape)
    sizes = [set(pair) - {None} for pair in zip(given, needed, strict=False)]
    fits = all(len(size) <= 1 for size in sizes)
    if len(needed) != 3 or len(given) not in (2, 3) or not fits:
        raise ValueError(
            f"{type(metric).__name__} needs weights (B, T, Tv), and target "
            "ids (B, T) or links (B, T, Tv). Received: "
            f"y_true.shape={given}, y_pred.shape={needed}. It belongs to the "
            "second output of a model that returns logits and weights."
        )
    real = ops.not_equal(y_true, 0)
    steps = ops.any(real, axis=-1) if len(given) == 3 else real
    attention = keep_real(widen(attention), steps)
    pairs = real if len(given) == 3 else None
    return pairs, ops.cast(steps, "int32"), attention
