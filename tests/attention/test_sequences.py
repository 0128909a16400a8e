"""sequences: queries one at a time, and their gradient."""

import keras
import numpy as np
import pytest
from gradients import BACKEND
from gradients import WAYS
from gradients import differentiate
from gradients import kept_by_torch
from gradients import to_numpy
from gradients import to_tensor

from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import LocationAttention
from keras_attention import LocationAwareAttention
from keras_attention import Monotonic
from keras_attention import MultiHead
from keras_attention.attention import sequences
from keras_attention.attention.sequences import score_one_by_one
from keras_attention.backend import ops
from keras_attention.ops import additive_scores

B, TQ, TV, U = 2, 7, 5, 4
WEIGHT = keras.Variable(np.zeros(U), dtype="float64")


@pytest.fixture(params=["many", "few"])
def few(request, monkeypatch):
    """So that what is tested is many."""
    number = {"many": 1, "few": 10**6}[request.param]
    monkeypatch.setattr(sequences, "FEW", number)


def arrays(queries=TQ, words=TV):
    draw = np.random.default_rng(0).normal
    shapes = [(B, queries, U), (B, words, U), (U,)]
    return [draw(size=shape) for shape in shapes]


class Additive:
    variables = [WEIGHT]

    def score(self, query, keys):
        return additive_scores(query, keys, WEIGHT)


LAYER = Additive()


def looped(query, keys, vector):
    """The vector is a weight of the layer that scores."""
    with keras.StatelessScope([(WEIGHT, vector)]):
        return score_one_by_one(LAYER, query, keys)


def total(scores):
    def function(*tensors):
        return ops.sum(ops.square(1 + scores(*tensors)))

    return function


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("queries", [0, 1, TQ])
@pytest.mark.parametrize("words", [0, 1, TV])
def test_scores_are_the_same(queries, words):
    given = [to_tensor(x) for x in arrays(queries, words)]
    found = to_numpy(looped(*given))
    np.testing.assert_allclose(
        found, to_numpy(additive_scores(*given)), atol=1e-14
    )


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("way", WAYS)
def test_gradients_are_the_same(way):
    found = differentiate(total(looped), arrays(), [], way)
    expected = differentiate(total(additive_scores), arrays(), [], way)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    for x, y in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="graphs")
@pytest.mark.parametrize("number", [1, 10**6])
def test_a_graph_of_any_length_looks_at_the_sizes(number, monkeypatch):
    monkeypatch.setattr(sequences, "FEW", number)
    shapes = [(None, None, U), (None, None, U), (U,)]

    @BACKEND.function(
        autograph=False,
        input_signature=[BACKEND.TensorSpec(s, "float64") for s in shapes],
    )
    def run(*tensors):
        with BACKEND.GradientTape() as tape:
            tape.watch(tensors)
            value = total(looped)(*tensors)
        return tape.gradient(value, tensors)

    for given in (arrays(), arrays(3, 2)):
        _, expected = differentiate(total(additive_scores), given)
        for x, y in zip(run(*map(to_tensor, given)), expected, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-12)


def test_the_pairs_never_exist_at_once(monkeypatch):
    """Nothing that runs is larger than all scores, or one query's pairs."""
    monkeypatch.setattr(sequences, "FEW", 1)
    seen = []
    tanh = ops.tanh

    def watched(x):
        seen.append(tuple(x.shape))
        return tanh(x)

    monkeypatch.setattr(ops, "tanh", watched)
    given = [x.astype("float32") for x in arrays()]
    differentiate(total(looped), given)
    assert seen
    assert {shape for shape in seen} == {(B, 1, TV, U)}


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="its autograd")
def test_the_gradient_keeps_no_pairs(monkeypatch):
    monkeypatch.setattr(sequences, "FEW", 1)
    given = [to_tensor(x).requires_grad_() for x in arrays()]
    value, kept = kept_by_torch(lambda: total(looped)(*given))
    assert kept
    assert max(map(len, kept)) < 4
    value.backward()
    assert all(x.grad is not None for x in given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CoverageAttention(3),
        lambda: DotAttention(alignment=Monotonic()),
        lambda: GaussianMixtureAttention(2),
        lambda: LocationAttention(4),
        lambda: MultiHead(LocationAwareAttention(3, 2, 3), 2),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_without_rows_there_are_none(make, compiled):
    """A graph does not know it before it runs; see `ops/loops.py`."""
    layer = make()
    query, value = np.ones((2, 3, 5), "f"), np.ones((2, 4, 5), "f")
    layer(query, value)

    def run(query, value):
        return layer(query, value, return_attention_scores=True)

    if compiled and keras.backend.backend() == "tensorflow":
        shape = BACKEND.TensorSpec((None, None, 5))
        run = BACKEND.function(run, input_signature=[shape, shape])
    if compiled and keras.backend.backend() == "jax":
        run = BACKEND.jit(run)
    for rows, words in ((0, 4), (2, 0), (0, 0)):
        context, weights = run(query[:rows], value[:rows, :words])
        assert tuple(context.shape) == (rows, 3, 5)
        assert tuple(weights.shape) == (rows, 3, words)
