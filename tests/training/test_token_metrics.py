"""Metrics: sums over the real tokens of all batches, and nothing of padding."""

import keras
import numpy as np
import pytest
from keras import ops
from masked import all_padding

from keras_attention import Perplexity
from keras_attention import SequenceCrossentropy
from keras_attention import TokenAccuracy
from keras_attention.training import AbstractTokenMetric

METRICS = [TokenAccuracy, Perplexity]


def batches():
    """Two batches of different sizes, with padding inside and at the end."""
    draw = np.random.default_rng(0)
    for shape in ((2, 4), (3, 6)):
        ids = draw.integers(0, 5, size=shape).astype("int32")
        yield ids, 2 * draw.normal(size=(*shape, 5)).astype("float32")


def reference(metric, weighted_batches):
    over, under = 0.0, 0.0
    for ids, x, weights in weighted_batches:
        for b, t in np.argwhere(ids != 0):
            log_p = x[b, t] - np.log(np.exp(x[b, t].astype("float64")).sum())
            hit = np.argmax(log_p) == ids[b, t]
            value = hit if metric is TokenAccuracy else -log_p[ids[b, t]]
            over += weights[b, t] * value
            under += weights[b, t]
    return over / under if metric is TokenAccuracy else np.exp(over / under)


@pytest.mark.parametrize("metric", METRICS)
class TestBoth:
    @pytest.mark.parametrize("kind", [None, "sentence", "column", "token"])
    def test_agrees_with_the_definition(self, metric, kind):
        running, seen = metric(), []
        draw = np.random.default_rng(1).uniform
        for ids, x in batches():
            n = {None: 1, "token": ids.shape[1]}.get(kind, 1)
            weights = draw(size=(len(ids), n))
            given = weights[:, 0] if kind == "sentence" else weights
            if kind is None:
                given, weights = None, np.ones((len(ids), 1))
            running.update_state(ids, x, given)
            seen.append((ids, x, np.broadcast_to(weights, ids.shape)))
        want = reference(metric, seen)
        assert float(running.result()) == pytest.approx(want, rel=1e-6)

    def test_nothing_seen(self, metric):
        nothing = {TokenAccuracy: 0.0, Perplexity: 1.0}[metric]
        running = metric()
        assert float(running.result()) == nothing
        running.update_state(np.zeros((2, 3), "int32"), np.ones((2, 3, 5)))
        assert float(running.result()) == nothing

    def test_reset_forgets(self, metric):
        (ids, x), second = batches()
        running = metric()
        running.update_state(*second)
        running.reset_state()
        running.update_state(ids, x)
        assert float(running.result()) == float(metric()(ids, x))

    def test_the_mask_of_the_logits_is_ignored(self, metric):
        ids, x = next(batches())
        want = float(metric()(ids, x))
        assert float(metric()(ids, all_padding(x))) == want

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_precision_sums_in_float32(self, metric, dtype):
        ids = np.ones((5, 1000), "int32")
        x = np.broadcast_to(np.float32([0, 0, 8, -8]), (5, 1000, 4))
        got = metric()(ids, ops.cast(x, dtype))
        want = reference(metric, [(ids[:1, :1], x, np.ones((1, 1)))])
        assert float(got) == pytest.approx(want, rel=1e-4)

    def test_keras_serializes_it(self, metric):
        one = metric(name="mine")
        revived = keras.metrics.deserialize(keras.metrics.serialize(one))
        assert isinstance(revived, metric)
        assert revived.get_config() == one.get_config()
        assert revived.name == "mine"

    def test_refuses_shapes_that_do_not_fit(self, metric):
        ids, x = next(batches())
        with pytest.raises(ValueError, match="same B and T"):
            metric()(ids[:, 1:], x)
        with pytest.raises(ValueError, match="`sample_weight` needs"):
            metric()(ids, x, np.ones(3))


@pytest.mark.slow
def test_fit_reports_them_with_and_without_weights():
    ids = np.array([[4, 3, 2, 0], [1, 2, 0, 0]])
    weights = np.array([1.0, 3.0])
    source = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(5, 4, mask_zero=True)(source)
    model = keras.Model(source, keras.layers.Dense(5)(x))
    model.compile(
        loss=SequenceCrossentropy(),
        metrics=[Perplexity()],
        weighted_metrics=[TokenAccuracy(), Perplexity(name="weighted")],
    )
    logs = model.evaluate(
        ids, ids, sample_weight=weights, return_dict=True, verbose=0
    )
    scores = model.predict(ids, verbose=0)
    each = np.broadcast_to(weights[:, None], ids.shape)
    plain = reference(Perplexity, [(ids, scores, np.ones((2, 4)))])
    assert logs["perplexity"] == pytest.approx(plain, rel=1e-5)
    weighted = reference(Perplexity, [(ids, scores, each)])
    assert logs["weighted"] == pytest.approx(weighted, rel=1e-5)
    assert np.log(logs["weighted"]) == pytest.approx(logs["loss"], rel=1e-5)
    right = reference(TokenAccuracy, [(ids, scores, each)])
    assert logs["token_accuracy"] == pytest.approx(right, rel=1e-5)


def test_base_says_what_a_metric_must_define():
    with pytest.raises(NotImplementedError, match="measure"):
        AbstractTokenMetric()(np.ones((1, 1)), np.ones((1, 1, 2)))
