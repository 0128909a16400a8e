"""batches: an epoch is the same for a seed, in buckets of least padding."""

from itertools import combinations

import numpy as np
import pytest

from keras_attention.data.batches import Batches
from keras_attention.data.batches import choose_buckets
from keras_attention.data.corpus import Corpus
from keras_attention.data.corpus import Rows

PAIRS = 201
LENGTHS = np.random.default_rng(3).integers(3, 40, (2, PAIRS))
SMALL = np.random.default_rng(0).integers(3, 15, (2, 60))


def corpus():
    """Pairs whose ids all are the number of the pair, from 10 on."""
    numbers = np.arange(PAIRS, dtype="int32") + 10
    sides = [
        Rows(np.repeat(numbers, side), np.cumsum([0, *side]))
        for side in LENGTHS
    ]
    return Corpus(sides, [], {}, [])


def expected(seed, epoch, batch_size, buckets, training):
    """The pairs of all batches, as the README of seeds promises: a formula."""
    random = np.random.default_rng([seed, epoch])
    ends, _ = choose_buckets([LENGTHS], buckets, batch_size)
    bucket = np.searchsorted(ends, LENGTHS.max(axis=0))
    order = np.arange(PAIRS)
    if training:
        left = PAIRS % batch_size
        full = PAIRS - left
        order = [(epoch * left + left + i) % PAIRS for i in range(full)]
        order = random.permutation(order)
    order = order[np.argsort(bucket[order], kind="stable")]
    starts = np.arange(0, len(order), batch_size)
    if training:
        random.shuffle(starts)
    return [order[i : i + batch_size].tolist() for i in starts]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("buckets", [1, 8, 50])
def test_the_order_of_a_seed_stays(training, buckets):
    """Trainings that were interrupted before an update go on after it."""
    batches = Batches(corpus(), 7, training, 5, buckets, (0, 1))
    for epoch in range(2):
        found = [(source[:, 0] - 10).tolist() for (source, _), _ in batches()]
        assert found == expected(5, epoch, 7, buckets, training)
        assert len(found) == len(batches)


def test_rows_are_padded_to_the_width_of_their_bucket():
    _, widths = choose_buckets([LENGTHS], 4, 9)
    for (source, inputs), labels in Batches(corpus(), 9, True, 0, 4, (0, 1))():
        pairs = source[:, 0] - 10
        lengths = LENGTHS[:, pairs]
        assert [source.shape[1], labels.shape[1] + 1] in widths.tolist()
        for side, found in zip(lengths, (source, labels), strict=True):
            count = side - (found is labels)
            wanted = np.arange(found.shape[1]) < count[:, None]
            assert np.array_equal(found, wanted * (pairs[:, None] + 10))
        assert np.array_equal(inputs[:, 1:], labels[:, :-1])


def test_files_are_let_go(monkeypatch):
    seen = []
    monkeypatch.setattr(Corpus, "release", lambda held: seen.append(held))
    batches = Batches(corpus(), 1, True, 0, 1, (0, 1))
    before = len(seen)
    for _ in batches():
        pass
    assert len(seen) - before == -(-PAIRS // 2)


def padded(lengths, ends):
    """Count the ids of all pairs in buckets with these ends."""
    longest = lengths.max(axis=0)
    total, start = 0, 0
    for end in ends:
        widths = lengths[:, longest <= end].max(axis=1)
        total += ((start < longest) & (longest <= end)).sum() * widths.sum()
        start = end
    return total


def sizes(lengths, ends):
    """Count the pairs of buckets with these ends."""
    return np.bincount(np.searchsorted(ends, lengths.max(axis=0)))


@pytest.mark.parametrize("buckets", [1, 2, 3, 5])
@pytest.mark.parametrize("least", [1, 9, 21, 60])
def test_no_other_buckets_need_less_padding(buckets, least):
    ends, widths = choose_buckets(np.split(SMALL, 4, 1), buckets, least)
    longest = np.unique(SMALL.max(axis=0))
    every = [
        [*chosen, longest[-1]]
        for count in range(buckets)
        for chosen in combinations(longest[:-1], count)
    ]
    large = [other for other in every if sizes(SMALL, other).min() >= least]
    assert padded(SMALL, ends) == min(padded(SMALL, x) for x in large)
    assert sizes(SMALL, ends).min() >= least
    bucket = np.searchsorted(ends, SMALL.max(axis=0))
    assert (SMALL.T <= widths[bucket]).all()
    assert len(ends) == len(widths) <= buckets


@pytest.mark.parametrize("batch_size", [7, 64, 100, 200, 201])
def test_no_pair_is_left_out_twice_in_a_row(batch_size):
    batches = Batches(corpus(), batch_size, True, 5, 8, (0, 1))
    everything, before = {*range(PAIRS)}, set()
    counts = np.zeros(PAIRS, int)
    for _ in range(PAIRS):
        taken = [pair for (x, _), _ in batches() for pair in x[:, 0] - 10]
        left = everything - {*taken}
        full = PAIRS // batch_size * batch_size
        assert len(taken) == PAIRS - len(left) == full
        assert not left & before
        before = left
        counts[taken] += 1
    assert {*counts} == {full}
