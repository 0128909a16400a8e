"""Counts of pairs: sums, ranks, and what is forgotten."""

import numpy as np
import pytest

from keras_attention.outputs import pair_counts
from keras_attention.outputs.pair_counts import PairCounts

SIZES = SOURCES, TARGETS = 7, 11


def draw_batches(count=4):
    draw = np.random.default_rng(0)
    for _ in range(count):
        source = draw.integers(0, SOURCES, (3, 5))
        target = draw.integers(0, TARGETS, (3, 4))
        weights = draw.random((3, 4, 5)).astype("float32")
        yield source, target, np.where(weights < 0.2, 0, weights)


def naive_table(batches, candidates, without=()):
    """Rank by a dense matrix of sums, word by word."""
    sums = np.zeros(SIZES)
    for source, target, weights in batches:
        for row, t, i in np.ndindex(weights.shape):
            sums[source[row, i], target[row, t]] += weights[row, t, i]
    sums[0] = sums[:, 0] = sums[:, [*without]] = 0
    table = np.zeros((SOURCES, candidates), int)
    for row, of_source in zip(table, sums, strict=True):
        order = np.argsort(-of_source, kind="stable")[:candidates]
        order = order[of_source[order] > 0]
        row[: len(order)] = order
    return table


def count(batches, candidates):
    counts = PairCounts(*SIZES, candidates)
    for batch in batches:
        counts.add(*batch)
    return counts


@pytest.mark.parametrize("candidates", [1, 3, 20])
@pytest.mark.parametrize("held", [0, 50, 2**22])
def test_the_best_are_those_of_a_dense_matrix(candidates, held, monkeypatch):
    monkeypatch.setattr(pair_counts, "HELD", held)
    found = count(draw_batches(), candidates).best(np.zeros(0, int))
    wanted = naive_table(draw_batches(), min(candidates, TARGETS))
    assert found.dtype == np.int32
    assert found.shape == (SOURCES, candidates)
    np.testing.assert_array_equal(found[:, :TARGETS], wanted)
    assert not found[:, TARGETS:].any()


def test_few_pairs_are_kept(monkeypatch):
    """Those that are asked for stay, if they were ahead all the time."""
    monkeypatch.setattr(pair_counts, "HELD", 0)
    monkeypatch.setattr(pair_counts, "ROOM", 4)
    counts = PairCounts(3, 1000, 2)
    draw = np.random.default_rng(0).integers
    for _ in range(20):
        target = draw(10, 1000, (8, 6))
        target[:, :2] = 5, 6
        source = draw(1, 3, (8, 2))
        counts.add(source, target, np.ones((8, 6, 2)))
        assert len(counts._pairs) <= 4 * 2 * 3
    table = counts.best(np.zeros(0, int))
    assert table[1:].tolist() == [[5, 6], [5, 6]]
