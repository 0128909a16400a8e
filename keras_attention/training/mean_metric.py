"""The base of all metrics: a weighted mean over all batches."""

import keras
from keras import ops

from keras_attention.ops.replicas import count_replicas
from keras_attention.ops.replicas import sum_over_replicas
from keras_attention.ops.tokens import weighted_sum


class AbstractMeanMetric(keras.metrics.Metric):
    """Sums values times their weights, and the weights.

    Both sums go over all batches, so that a batch of long sentences counts
    for more. A subclass writes `update_state`, which calls `add`, and
    `result`. A mask that `y_pred` carries is ignored.

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
            weights: The weight of each value, of the same shape. A value of
                weight 0 may be infinite, or NaN.
        """
        weights = ops.cast(weights, self.dtype)
        values = ops.cast(values, self.dtype)
        total, count = sum_over_replicas(
            weighted_sum(weights, values), ops.sum(weights)
        )
        # Every replica adds its share of the sums of all: thus the results of
        # a batch are right in each of them.
        replicas = count_replicas()
        self.total.assign(self.total + total / replicas)
        self.count.assign(self.count + count / replicas)

    def mean(self):
        """Compute the mean of all values so far, a scalar; 0 of none."""
        return ops.divide_no_nan(self.total, self.count)
