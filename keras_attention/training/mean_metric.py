"""What all metrics share: two sums over all batches seen."""

import keras
from keras import ops

from keras_attention.ops.tokens import weighted_sum


class AbstractMeanMetric(keras.metrics.Metric):
    """Adds up numbers times what they count, and what they count.

    Both sums go over all batches, so that a batch of long sentences counts
    for more. A subclass writes `update_state`, which calls `add`, and
    `result`. A mask that `y_pred` carries is ignored.

    Args:
        name: Name of the metric.
        dtype: Dtype of the sums. Defaults to `keras.config.floatx()`.
    """

    def __init__(self, name=None, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def add(self, values, weights):
        """Count each value as often as its weight says."""
        weights = ops.cast(weights, self.dtype)
        values = ops.cast(values, self.dtype)
        self.total.assign(self.total + weighted_sum(weights, values))
        self.count.assign(self.count + ops.sum(weights))

    def mean(self):
        """Divide the sums; the mean of nothing is 0."""
        return ops.divide_no_nan(self.total, self.count)
