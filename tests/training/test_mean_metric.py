"""AbstractMeanMetric: two sums, over all batches."""

import numpy as np
import pytest

from keras_attention.training import AbstractMeanMetric


class Mean(AbstractMeanMetric):
    def update_state(self, values, weights, sample_weight=None):
        self.add(values, weights)

    def result(self):
        return self.mean()


def test_a_value_counts_as_often_as_its_weight_says():
    metric = Mean()
    metric.update_state(np.array([1.0, 5.0]), np.array([3, 1]))
    metric.update_state(np.array([10.0]), np.array([2]))
    assert float(metric.result()) == pytest.approx((3 + 5 + 20) / 6)


def test_what_has_no_weight_may_be_anything():
    metric = Mean()
    metric.update_state(np.array([2.0, np.nan, np.inf]), np.array([1, 0, 0]))
    assert float(metric.result()) == 2


def test_the_mean_of_nothing_is_0():
    metric = Mean()
    assert float(metric.result()) == 0
    metric.update_state(np.array([7.0]), np.array([1]))
    metric.reset_state()
    assert float(metric.result()) == 0


def test_values_are_summed_in_the_dtype_of_the_metric():
    metric = Mean()
    ones = np.ones(5000, "float16")
    metric.update_state(ones, ones)
    assert float(metric.count) == 5000
