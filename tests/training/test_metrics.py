"""Metrics: each its formula, over the real tokens of all batches."""

import keras
import numpy as np
import pytest
from keras import ops
from masked import all_padding
from samples import mask

import keras_attention as ka
from keras_attention.training import AbstractMeanMetric

OF_ATTENTION = [ka.AttentionEntropy, ka.AttentionCoverage]
SIZES = [(2, [4, 2], [5, 3], 6), (3, [1, 3, 5], [2, 6, 4], 7)]


def logits():
    """Ids and logits of two batches, with padding inside and at the end."""
    draw = np.random.default_rng(0)
    for shape in ((2, 4), (3, 6)):
        ids = draw.integers(0, 5, size=shape).astype("int32")
        yield ids, 2 * draw.normal(size=(*shape, 5)).astype("float32"), None


def attention():
    """Ids, weights and real positions, of two batches of different sizes."""
    rng = np.random.default_rng(0)
    for rows, targets, sources, words in SIZES:
        steps, real = mask(targets, 6), mask(sources, words)
        ids = np.where(steps, rng.integers(1, 5, size=steps.shape), 0)
        weights = rng.exponential(size=(rows, 6, words)) * real[:, None]
        weights /= weights.sum(-1, keepdims=True)  # of padded steps as well
        yield ids.astype("int32"), weights.astype("float32"), real


def batches(metric):
    return attention() if metric in OF_ATTENTION else logits()


def mean_of_tokens(measure, seen):
    """The mean of a number of each real token."""
    over, under = 0.0, 0.0
    for ids, x, _, w in seen:
        for b, t in np.argwhere(ids != 0):
            log_p = x[b, t] - np.log(np.exp(x[b, t].astype("float64")).sum())
            over += w[b, t] * measure(log_p, ids[b, t])
            under += w[b, t]
    return over / under


def accuracy(seen):
    return mean_of_tokens(lambda log_p, i: np.argmax(log_p) == i, seen)


def perplexity(seen):
    return np.exp(mean_of_tokens(lambda log_p, i: -log_p[i], seen))


def entropy(seen):
    """The mean of -sum p log p over real steps that attend at all."""
    over = under = 0.0
    for ids, a, _, w in seen:
        for b, t in np.argwhere(ids != 0):
            row = a[b, t][a[b, t] > 0].astype("float64")
            if len(row):
                p = row / row.sum()
                over -= w[b, t] * (p * np.log(p)).sum()
                under += w[b, t]
    return over / under


def coverage(seen):
    """The mean of min(c, 1) over real positions."""
    over = under = 0.0
    for ids, a, real, w in seen:
        for b, steps in enumerate(ids != 0):
            for j in np.flatnonzero(real[b]):
                weight = w[b, steps].mean() if steps.any() else 0.0
                over += weight * min(a[b, steps, j].sum(), 1.0)
                under += weight
    return over / under


REFERENCE = {
    ka.TokenAccuracy: accuracy,
    ka.Perplexity: perplexity,
    ka.AttentionEntropy: entropy,
    ka.AttentionCoverage: coverage,
}


def weighted(seen):
    return [(*one, np.ones(one[0].shape)) for one in seen]


@pytest.mark.parametrize("metric", REFERENCE)
class TestEach:
    @pytest.mark.parametrize("kind", [None, "sentence", "column", "token"])
    def test_agrees_with_the_definition(self, metric, kind):
        running, seen = metric(), []
        draw = np.random.default_rng(1).uniform
        for ids, x, real in batches(metric):
            n = ids.shape[1] if kind == "token" else 1
            w = draw(size=(len(ids), n)) if kind else np.ones((len(ids), 1))
            given = w[:, 0] if kind == "sentence" else w
            running.update_state(ids, x, given if kind else None)
            seen.append((ids, x, real, np.broadcast_to(w, ids.shape)))
        want = REFERENCE[metric](seen)
        rel = 1e-5 if metric in OF_ATTENTION else 1e-6
        assert float(running.result()) == pytest.approx(want, rel=rel)

    def test_padding_may_hold_anything(self, metric):
        ids, x, _ = next(batches(metric))
        want = float(metric()(ids, x))
        x[ids == 0] = np.nan
        assert float(metric()(ids, x)) == want

    def test_more_padding_changes_nothing(self, metric):
        ids, x, _ = next(batches(metric))
        longer = np.pad(ids, ((0, 1), (0, 2)))
        words = 3 * (metric in OF_ATTENTION)
        wider = np.pad(x, ((0, 1), (0, 2), (0, words)))
        want = pytest.approx(float(metric()(ids, x)), rel=1e-6)
        assert float(metric()(longer, wider)) == want

    def test_nothing_seen(self, metric):
        nothing = 1.0 if metric is ka.Perplexity else 0.0
        running = metric()
        assert float(running.result()) == nothing
        running.update_state(np.zeros((2, 3), "int32"), np.ones((2, 3, 5)))
        assert float(running.result()) == nothing

    def test_the_mask_of_the_output_is_ignored(self, metric):
        ids, x, _ = next(batches(metric))
        want = float(metric()(ids, x))
        assert float(metric()(ids, all_padding(x))) == want

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_precision_sums_in_float32(self, metric, dtype):
        if metric in OF_ATTENTION:
            ids = np.ones((4, 3000), "int32")
            x = np.full((4, 3000, 4), 2.0**-13, "float32")  # stuck at 0.25
        else:
            ids = np.ones((5, 1000), "int32")
            x = np.broadcast_to(np.float32([0, 0, 8, -8]), (5, 1000, 4))
        got = metric()(ids, ops.cast(x, dtype))
        want = REFERENCE[metric](weighted([(ids, x, np.ones((4, 4), bool))]))
        assert float(got) == pytest.approx(want, rel=1e-4)

    def test_keras_serializes_it(self, metric):
        one = metric(name="mine")
        revived = keras.metrics.deserialize(keras.metrics.serialize(one))
        assert isinstance(revived, metric)
        assert revived.get_config() == one.get_config()
        assert revived.name == "mine"

    def test_refuses_shapes_that_do_not_fit(self, metric):
        ids, x, _ = next(batches(metric))
        says = f"{metric.__name__} needs"
        if metric not in OF_ATTENTION:
            says = r"y_true.shape=.*not one-hot"
        with pytest.raises(ValueError, match=says):
            metric()(ids[:, 1:], x)
        with pytest.raises(ValueError, match="`sample_weight` needs"):
            metric()(ids, x, np.ones(3))


@pytest.mark.parametrize("metric", OF_ATTENTION)
class TestAttention:
    def test_pairs_say_what_is_real(self, metric):
        running, seen = metric(), []
        for ids, a, real in attention():
            real = real & (np.arange(real.shape[1]) != 1)  # a hole
            pairs = (ids != 0)[..., None] & real[:, None]
            running.update_state(pairs.astype("int32"), a)
            seen.append((ids, a, real))
        want = REFERENCE[metric](weighted(seen))
        assert float(running.result()) == pytest.approx(want, rel=1e-5)

    def test_refuses_other_outputs_and_other_links(self, metric):
        ids, a, _ = next(attention())
        with pytest.raises(ValueError, match="second output of a model"):
            metric()(ids, a[:, 0])
        with pytest.raises(ValueError, match=r"links \(B, T, Tv\)"):
            metric()(a[..., 1:], a)


class TestEntropy:
    def test_rows_need_not_sum_to_1(self):
        ids, a, _ = next(attention())
        scale = np.random.default_rng(2).uniform(0.01, 9, (*ids.shape, 1))
        want = pytest.approx(float(ka.AttentionEntropy()(ids, a)), rel=1e-5)
        assert float(ka.AttentionEntropy()(ids, scale * a)) == want

    def test_a_row_without_weight_does_not_count(self):
        ids, a, real = next(attention())
        a[:, 1] = 0
        want = entropy(weighted([(ids, a, real)]))
        got = float(ka.AttentionEntropy()(ids, a))
        assert got == pytest.approx(want, rel=1e-5)


class TestCoverage:
    def test_positions_count_up_to_the_last_with_weight(self):
        weights = np.array([[[0, 1, 0, 0], [0, 0, 1, 0]]], "float32")
        ids = np.ones((1, 2), "int32")
        assert float(ka.AttentionCoverage()(ids, weights)) == pytest.approx(
            2 / 3
        )
        pairs = np.ones((1, 2, 4), "int32")
        assert float(ka.AttentionCoverage()(pairs, weights)) == 0.5


def test_the_base_sums_in_its_own_dtype():
    metric = AbstractMeanMetric()
    ones = np.ones(5000, "float16")
    metric.add(ones, ones)
    assert float(metric.count) == 5000
    assert float(metric.result()) == float(metric.mean()) == 1
