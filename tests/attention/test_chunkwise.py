"""ChunkwiseAttention: what the contract cannot know about it."""

import itertools

import numpy as np
import pytest
from contract import AttentionContract
from contracts.case import AttentionCase
from contracts.formula import WeightLaws
from gradients import to_numpy
from keras import ops

from keras_attention import BahdanauAttention
from keras_attention import ChunkwiseAttention
from keras_attention import CosineAttention
from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import LocationAttention
from keras_attention import LuongGeneral
from keras_attention import Monotonic
from keras_attention import MultiHead

SIZE = 3


def stop_softly(p, before):
    """The probability of each stop, one start and one stop at a time."""
    after = np.zeros(len(p))
    for k, j in itertools.combinations_with_replacement(range(len(p)), 2):
        after[j] += before[k] * np.prod(1 - p[k:j]) * p[j]
    return after


def stop_hard(p, before):
    """Algorithm 1: the first stop from where the reader was."""
    after = np.zeros(len(p))
    stops = [j for j in range(before.argmax(), len(p)) if p[j] > 0.5]
    after[stops[:1]] = before.any()
    return after


def share(u, k, seen):
    """Softmax over the chunk that ends at `k`."""
    powers = np.zeros(len(u))
    for j in range(max(k - SIZE + 1, 0), k + 1):
        powers[j] = np.exp(u[j]) * seen[j]
    return powers / max(powers.sum(), 1e-300)


class ChunkwiseCase(AttentionCase):
    layer_class = ChunkwiseAttention
    init_kwargs = {"chunk_size": SIZE}
    mode = "parallel"
    dense = False
    stop = staticmethod(stop_softly)

    def layer(self, **changes):
        given = {
            "monotonic": LuongGeneral(alignment=Monotonic(self.mode, 0.4)),
            "chunk": BahdanauAttention(4),
            **self.init_kwargs,
        }
        return ChunkwiseAttention(**{**given, **changes})

    def reference_weights(self, query, key, mask, real, w):
        before, every = np.eye(len(real))[0], []
        for q, seen in zip(query, mask, strict=True):
            energies = key @ w["kernel"].T @ q + w["score_bias"]
            before = self.stop(seen / (1 + np.exp(-energies)), before)
            hidden = np.tanh(q @ w["query_kernel"] + key @ w["key_kernel"])
            u = hidden @ w["score_vector"]
            shares = [share(u, k, seen) for k in range(len(real))]
            every.append(before @ np.array(shares))
        return np.array(every)


class TestChunkwiseAttention(ChunkwiseCase, AttentionContract):
    test_weights_are_attributes = None  # they are those of two layers

    def test_a_chunk_of_one_is_monotonic(self):
        query, value = self.inputs()
        layer = self.trained(chunk_size=1)
        alone = LuongGeneral(alignment=Monotonic())
        alone.build(query.shape, value.shape)
        alone.set_weights(layer.monotonic.get_weights())
        for x, y in zip(
            self.run(layer, query, value),
            self.run(alone, query, value),
            strict=True,
        ):
            np.testing.assert_allclose(x, y, atol=1e-6)

    def test_its_layers_are_copies_of_its_dtype(self):
        query, value = self.inputs()
        given = BahdanauAttention(4), LuongGeneral(alignment=Monotonic())
        layer = self.layer(chunk=given[0], monotonic=given[1], dtype="float64")
        layer(query, value)
        assert not any(x.built for x in given)
        assert {w.dtype for w in layer.weights} == {"float64"}
        paths = [w.path.split("/")[-2:] for w in layer.chunk.weights]
        assert ["chunk", "query_kernel"] in paths

    def test_noise_is_that_of_its_monotonic_layer(self):
        query, value = self.inputs()
        noisy = LuongGeneral(alignment=Monotonic(sigmoid_noise=2.0), seed=3)
        for dropout in (0.0, 0.5):
            layer = self.layer(monotonic=noisy, dropout=dropout)
            _, plain = self.run(layer, query, value)
            _, drawn = self.run(layer, query, value, training=True)
            assert layer.seed == 3
            assert abs(plain - drawn).max() > 0.01

    def test_each_score_has_its_own_history(self):
        query, value = self.inputs()
        layer = self.trained(
            monotonic=CoverageAttention(4, alignment=Monotonic()),
            chunk=CoverageAttention(4, coverage_loss=0.5),
        )
        memory = layer.prepare(value)
        state, total = layer.initial_state(memory), 0
        for t in range(3):
            one = query[:, t : t + 1]
            _, weights, state = self.run_step(layer, one, memory, state)
            total = total + weights
        stopped, _, covered = map(to_numpy, state)
        np.testing.assert_allclose(covered, total, atol=1e-6)
        np.testing.assert_allclose(stopped.sum(-1), total.sum(-1), atol=1e-6)
        assert abs(stopped - covered).max() > 0.01
        layer(query, value)
        assert len(layer.losses) == 1

    def test_a_score_reaches_no_further_than_alone(self):
        """A reader at position 5, and a score of the first four."""
        query, value = self.inputs(words=7)
        monotonic = LuongGeneral(alignment=Monotonic("hard", 1.0))
        layer = self.layer(monotonic=monotonic, chunk=LocationAttention(4))
        layer.build(query.shape, value.shape)
        layer.monotonic.kernel.assign(np.zeros((3, 5)))
        at = ops.convert_to_tensor(np.eye(7, dtype="float32")[[[5], [5]]])
        _, weights, _ = layer.step(query[:, :1], layer.prepare(value), (at,))
        want = np.eye(7)[[[3], [3]]]
        np.testing.assert_allclose(to_numpy(weights), want, atol=1e-6)

    def test_in_heads(self):
        """Two sets of weights, and keys of two shapes in one memory."""
        inner = self.layer(chunk=CosineAttention())
        layer = MultiHead(inner, 2, key_dim=4)
        query, value = self.inputs()
        _, weights = layer(query, value, return_attention_scores="heads")
        weights = to_numpy(weights)
        assert weights.shape == (2, 2, 3, 5)
        assert (weights[:, 0] != weights[:, 1]).any()


class TestChunkwiseAttentionHard(ChunkwiseCase, WeightLaws):
    mode = "hard"
    stop = staticmethod(stop_hard)


class SquaredDot(DotAttention):
    def score(self, query, keys):
        return ops.square(super().score(query, keys))


class ByPairs(DotAttention):
    """The same, as the product of all pairs of features."""

    def project_query(self, query):
        return ops.expand_dims(query, 3) * ops.expand_dims(query, 2)

    def project_keys(self, key):
        return self.project_query(key)  # (B, Tv, D, D)

    def score(self, query, keys):
        rows = [ops.reshape(x, (*x.shape[:2], 16)) for x in (query, keys)]
        return super().score(*rows)


def test_keys_of_any_rank_are_split():
    draw = np.random.default_rng(0).normal
    query, value = draw(size=(2, 3, 4)), draw(size=(2, 5, 4))
    found = []
    for one, other in ((SquaredDot, ByPairs), (ByPairs, SquaredDot)):
        layer = ChunkwiseAttention(
            one(alignment=Monotonic()), other(), 2, dtype="float64"
        )
        found.append(layer(query, value, return_attention_scores=True))
    for x, y in zip(*found, strict=True):
        np.testing.assert_allclose(to_numpy(x), to_numpy(y), atol=1e-13)


@pytest.mark.parametrize(
    "wrong",
    [
        *("monotonic", Monotonic(), DotAttention(), DotAttention),
        MultiHead(DotAttention(alignment=Monotonic()), 2),
    ],
)
def test_refuses_what_is_not_monotonic(wrong):
    with pytest.raises(ValueError, match=r"alignment=Monotonic\(\)"):
        ChunkwiseAttention(wrong, DotAttention(), 2)


@pytest.mark.parametrize(
    "wrong",
    [
        *("dot", DotAttention, DotAttention(alignment="sparsemax")),
        GaussianMixtureAttention(2),
    ],
)
def test_refuses_a_chunk_without_softmax(wrong):
    with pytest.raises(ValueError, match=r"`chunk` must.*Try BahdanauAtt"):
        ChunkwiseAttention(DotAttention(alignment=Monotonic()), wrong, 2)


def test_refuses_a_dropout_of_its_layers():
    """It would be applied by nobody."""
    monotonic = {"alignment": Monotonic()}
    for one, other in ((0.1, 0.0), (0.0, 0.1)):
        with pytest.raises(ValueError, match="`dropout` to ChunkwiseAttention"):
            ChunkwiseAttention(
                DotAttention(dropout=one, **monotonic),
                DotAttention(dropout=other),
                2,
            )
