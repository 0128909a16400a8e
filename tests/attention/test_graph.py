"""GraphAttention: both papers, and what adjacency means."""

import keras
import numpy as np
import pytest
from contracts.composed import ComposedLaws
from gradients import gradients
from gradients import to_numpy

from keras_attention import GraphAttention

EDGES = np.random.default_rng(5).random((2, 5, 5)) < 0.5
EDGES[0, 2] = False  # a node that sees nobody


def leaky(x):
    return np.where(x > 0, x, 0.2 * x)


class GraphCase(ComposedLaws):
    layer_class = GraphAttention

    def inputs(self, dtype="float32", size=3):
        return [*super().inputs(dtype, size), EDGES]

    def score(self, q, k, w, head):
        raise NotImplementedError

    def projected(self, x, w):
        raise NotImplementedError

    def heads(self, x):
        return x.reshape(*x.shape[:-1], 2, 4)

    def reference(self, x, edges, mask, w):
        x = x.astype("float64")
        values = self.heads(x @ self.projected(w))  # (B, N, H, U)
        weights = np.zeros((2, 2, 5, 5))
        for b, h, i, j in np.ndindex(weights.shape):
            if edges[b, i, j] and mask[b, i] and mask[b, j]:
                score = self.score(x[b, i], x[b, j], w, h)
                weights[b, h, i, j] = np.exp(score)
        weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
        out = np.einsum("bhij,bjhu->bihu", weights, values)
        concat = self.init_kwargs.get("concat", True)
        return out.reshape(2, 5, 8) if concat else out.mean(2), weights


class TestGat(GraphCase):
    init_kwargs = {"units": 4, "heads": 2, "version": 1}

    def projected(self, w):
        return w["kernel"]

    def score(self, q, k, w, head):
        own, other = (self.heads(x @ w["kernel"])[head] for x in (q, k))
        pair = np.concatenate([own, other])
        vectors = [w["query_vector"][head], w["key_vector"][head]]
        return leaky(np.concatenate(vectors) @ pair)


class TestGatV2(GraphCase):
    init_kwargs = {"units": 4, "heads": 2}

    def projected(self, w):
        return w["key_kernel"]

    def score(self, q, k, w, head):
        hidden = q @ w["query_kernel"] + k @ w["key_kernel"]
        return w["score_vector"][head] @ leaky(self.heads(hidden)[head])

    def test_a_node_without_neighbours_gives_zeros(self):
        layer = self.trained()
        x, _ = self.inputs()
        out, weights = self.run(layer, x, EDGES)
        assert (out[0, 2] == 0).all()
        assert (weights[0, :, 2] == 0).all()
        loss = self.loss(layer, [EDGES])
        slopes = gradients(loss, [x, *self.weights_of(layer)])
        assert all(np.isfinite(slope).all() for slope in slopes)

    def test_self_loops_are_added_on_request(self):
        layer = self.trained(add_self_loops=True)
        x, _ = self.inputs()
        got = self.run(layer, x, EDGES)
        looped = EDGES | np.eye(5, dtype=bool)
        want = self.reference(x, looped, np.ones((2, 5)), self.named(layer))
        np.testing.assert_allclose(got[0], want[0], atol=1e-5)
        assert (got[0][0, 2] != 0).any()

    def test_an_edge_mask_takes_edges_away(self):
        layer = self.trained(add_self_loops=True)
        x, _ = self.inputs()
        taken = np.random.default_rng(6).random((2, 5, 5)) < 0.5
        _, got = self.run(layer, x, EDGES, edge_mask=~taken)
        looped = (EDGES | np.eye(5, dtype=bool)) & ~taken
        _, want = self.run(self.same(layer), x, looped)
        np.testing.assert_allclose(got, want, atol=1e-6)

    def same(self, layer):
        """A layer with the same weights that adds no self-loops."""
        other = self.trained()
        for x, y in zip(other.weights, layer.weights, strict=True):
            x.assign(to_numpy(y))
        return other

    def test_one_adjacency_serves_all(self):
        layer = self.trained()
        x, _ = self.inputs()
        one = self.run(layer, x, EDGES[1])
        each = self.run(layer, x, np.stack([EDGES[1]] * 2))
        for a, b in zip(one, each, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_drops_in_training_alone(self):
        layer = self.trained(dropout=0.5, seed=1)
        x, _ = self.inputs()
        out, weights = self.run(layer, x, EDGES)
        dropped, before = self.run(layer, x, EDGES, training=True)
        np.testing.assert_array_equal(weights, before)
        assert (dropped != out).any()


@pytest.mark.variant
class TestGatV2Averaged(TestGatV2):
    init_kwargs = {"units": 4, "heads": 2, "concat": False}


def test_the_mask_that_nodes_carry_is_used():
    """As in its siblings: Keras hands it on, also in a functional model."""
    ids, adjacency = keras.Input((4,)), keras.Input((4, 4), dtype="bool")
    nodes = keras.layers.Embedding(9, 5, mask_zero=True)(ids)
    layer = GraphAttention(3)
    model = keras.Model([ids, adjacency], layer(nodes, adjacency))
    given = np.array([[1, 2, 3, 0], [4, 5, 0, 0]])
    every = np.ones((2, 4, 4), bool)
    found = to_numpy(model([given, every]))
    features = to_numpy(nodes_of(model, given))
    wanted = to_numpy(layer(features, every, mask=given != 0))
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert (found[given == 0] == 0).all()


def nodes_of(model, ids):
    (embedding,) = [
        x for x in model.layers if isinstance(x, keras.layers.Embedding)
    ]
    return embedding(ids)
