"""Entropy and coverage: each its formula, word by word, and no padding."""

import keras
import numpy as np
import pytest
from keras import ops
from masked import all_padding
from samples import mask

from keras_attention import AttentionCoverage
from keras_attention import AttentionEntropy
from keras_attention import CosineAttention
from keras_attention import SequenceCrossentropy
from keras_attention import TokenAccuracy

METRICS = [AttentionEntropy, AttentionCoverage]
SIZES = [(2, [4, 2], [5, 3], 6), (3, [1, 3, 5], [2, 6, 4], 7)]


def batches():
    """Ids, weights and real positions, of two batches of different sizes."""
    rng = np.random.default_rng(0)
    for rows, targets, sources, words in SIZES:
        steps, real = mask(targets, 6), mask(sources, words)
        ids = np.where(steps, rng.integers(1, 5, size=steps.shape), 0)
        weights = rng.exponential(size=(rows, 6, words)) * real[:, None]
        weights /= weights.sum(-1, keepdims=True)  # of padded steps as well
        yield ids.astype("int32"), weights.astype("float32"), real


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


REFERENCE = {AttentionEntropy: entropy, AttentionCoverage: coverage}


def weighted(seen):
    return [(*one, np.ones(one[0].shape)) for one in seen]


@pytest.mark.parametrize("metric", METRICS)
class TestBoth:
    @pytest.mark.parametrize("kind", [None, "sentence", "column", "token"])
    def test_agrees_with_the_definition(self, metric, kind):
        running, seen = metric(), []
        draw = np.random.default_rng(1).uniform
        for ids, a, real in batches():
            n = ids.shape[1] if kind == "token" else 1
            w = draw(size=(len(ids), n)) if kind else np.ones((len(ids), 1))
            given = w[:, 0] if kind == "sentence" else w
            running.update_state(ids, a, given if kind else None)
            seen.append((ids, a, real, np.broadcast_to(w, ids.shape)))
        want = REFERENCE[metric](seen)
        assert float(running.result()) == pytest.approx(want, rel=1e-5)

    def test_pairs_say_what_is_real(self, metric):
        running, seen = metric(), []
        for ids, a, real in batches():
            real = real & (np.arange(real.shape[1]) != 1)  # a hole
            pairs = (ids != 0)[..., None] & real[:, None]
            running.update_state(pairs.astype("int32"), a)
            seen.append((ids, a, real))
        want = REFERENCE[metric](weighted(seen))
        assert float(running.result()) == pytest.approx(want, rel=1e-5)

    def test_padded_steps_may_hold_anything(self, metric):
        ids, a, _ = next(batches())
        want = float(metric()(ids, a))
        a[ids == 0] = np.nan
        assert float(metric()(ids, a)) == want

    def test_more_padding_changes_nothing(self, metric):
        ids, a, _ = next(batches())
        longer = np.pad(ids, ((0, 1), (0, 2)))
        wider = np.pad(a, ((0, 1), (0, 2), (0, 3)))
        want = pytest.approx(float(metric()(ids, a)), rel=1e-6)
        assert float(metric()(longer, wider)) == want

    def test_nothing_seen(self, metric):
        assert float(metric().result()) == 0
        assert float(metric()(np.zeros((2, 3)), np.ones((2, 3, 5)))) == 0

    def test_the_mask_of_the_weights_is_ignored(self, metric):
        ids, a, _ = next(batches())
        want = float(metric()(ids, a))
        assert float(metric()(ids, all_padding(a))) == want

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_precision_sums_in_float32(self, metric, dtype):
        ids = np.ones((4, 3000), "int32")
        a = np.full((4, 3000, 4), 2.0**-13, "float32")  # stuck at 0.25
        got = float(metric()(ids, ops.cast(a, dtype)))
        seen = [(ids, a, np.ones((4, 4), bool))]
        want = REFERENCE[metric](weighted(seen))
        assert got == pytest.approx(want, rel=1e-4)

    def test_keras_serializes_it(self, metric):
        one = metric(name="mine")
        revived = keras.metrics.deserialize(keras.metrics.serialize(one))
        assert isinstance(revived, metric)
        assert revived.get_config() == one.get_config()
        assert revived.name == "mine"

    def test_refuses_shapes_that_do_not_fit(self, metric):
        ids, a, _ = next(batches())
        with pytest.raises(ValueError, match=f"{metric.__name__} needs"):
            metric()(ids[:, 1:], a)
        with pytest.raises(ValueError, match="second output of a model"):
            metric()(ids, a[:, 0])
        with pytest.raises(ValueError, match=r"links \(B, T, Tv\)"):
            metric()(a[..., 1:], a)
        with pytest.raises(ValueError, match="`sample_weight` needs"):
            metric()(ids, a, np.ones(3))


class TestEntropy:
    def test_from_0_to_the_log_of_the_length(self):
        ids = np.ones((1, 4), "int32")
        sharp = float(AttentionEntropy()(ids, np.eye(4)[None]))
        assert sharp == pytest.approx(0, abs=1e-6)
        flat = AttentionEntropy()(ids, np.full((1, 4, 4), 0.25))
        assert float(flat) == pytest.approx(np.log(4), rel=1e-6)

    def test_rows_need_not_sum_to_1(self):
        ids, a, _ = next(batches())
        scale = np.random.default_rng(2).uniform(0.01, 9, (*ids.shape, 1))
        want = pytest.approx(float(AttentionEntropy()(ids, a)), rel=1e-5)
        assert float(AttentionEntropy()(ids, scale * a)) == want

    def test_a_row_without_weight_does_not_count(self):
        ids, a, real = next(batches())
        a[:, 1] = 0
        want = entropy(weighted([(ids, a, real)]))
        got = float(AttentionEntropy()(ids, a))
        assert got == pytest.approx(want, rel=1e-5)


class TestCoverage:
    def test_looking_twice_adds_nothing(self):
        weights = np.array([[[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]])
        got = AttentionCoverage()(np.ones((1, 3)), weights.astype("float32"))
        assert float(got) == 0.5

    def test_positions_count_up_to_the_last_with_weight(self):
        weights = np.array([[[0, 1, 0, 0], [0, 0, 1, 0]]], "float32")
        ids = np.ones((1, 2), "int32")
        assert float(AttentionCoverage()(ids, weights)) == pytest.approx(2 / 3)
        pairs = np.ones((1, 2, 4), "int32")
        assert float(AttentionCoverage()(pairs, weights)) == 0.5


@pytest.mark.slow
def test_evaluate_reports_them_beside_those_of_the_words():
    source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
    memory = keras.layers.Embedding(8, 4, mask_zero=True)(source)
    query = keras.layers.Embedding(8, 4, mask_zero=True)(target)
    context, weights = CosineAttention(beta=5.0)(
        query, memory, return_attention_scores=True
    )
    logits = keras.layers.Dense(8)(context)
    model = keras.Model([source, target], [logits, weights])
    model.compile(
        loss=[SequenceCrossentropy(), None],
        metrics=[[TokenAccuracy()], [AttentionEntropy(), AttentionCoverage()]],
    )
    sources = np.array([[3, 4, 5, 6], [4, 7, 0, 0]])
    targets = np.array([[5, 3, 2], [7, 2, 0]])
    logs = model.evaluate(
        [sources, targets], [targets, targets], return_dict=True, verbose=0
    )
    _, found = model.predict([sources, targets], verbose=0)
    seen = weighted([(targets, found, sources != 0)])
    for name, reference in (("entropy", entropy), ("coverage", coverage)):
        (got,) = (x for key, x in logs.items() if key.endswith(name))
        assert got == pytest.approx(reference(seen), rel=1e-4)
