"""batches: an epoch is the same for a seed, whatever holds the pairs."""

import numpy as np
import pytest

from keras_attention.text.batches import Batches
from keras_attention.text.buckets import choose_buckets
from keras_attention.text.corpus import Corpus
from keras_attention.text.rows import Rows

pytestmark = pytest.mark.tensorflow

PAIRS = 201
LENGTHS = np.random.default_rng(3).integers(3, 40, (2, PAIRS))


def corpus():
    """Pairs whose ids all are the number of the pair, from 10 on."""
    numbers = np.arange(PAIRS, dtype="int32") + 10
    sides = [
        Rows(np.repeat(numbers, side), np.cumsum([0, *side]))
        for side in LENGTHS
    ]
    return Corpus(sides, None, {}, [])


def expected(seed, epoch, batch_size, buckets, training):
    """The pairs of all batches, as the README of seeds promises: a formula."""
    random = np.random.default_rng([seed, epoch])
    ends, _ = choose_buckets([LENGTHS], buckets)
    bucket = np.searchsorted(ends, LENGTHS.max(axis=0))
    order = random.permutation(PAIRS) if training else np.arange(PAIRS)
    order = order[np.argsort(bucket[order], kind="stable")]
    if training:
        first = random.integers(PAIRS % batch_size + 1)
        order = order[first : first + PAIRS // batch_size * batch_size]
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
    _, widths = choose_buckets([LENGTHS], 4)
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
