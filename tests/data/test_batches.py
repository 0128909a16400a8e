"""batches: an epoch is the same for a seed, in buckets of least padding."""

from itertools import combinations

import numpy as np
import pytest

from keras_attention.data.batches import Batches
from keras_attention.data.batches import BatchSize
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
    ends, _ = choose_buckets([LENGTHS], buckets, BatchSize(batch_size))
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
    _, widths = choose_buckets([LENGTHS], 4, BatchSize(9))
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
    ends, widths = choose_buckets(
        np.split(SMALL, 4, 1), buckets, BatchSize(least)
    )
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


def limited(training=True, shard=(0, 1), tokens=120, count=7):
    return Batches(corpus(), count, training, 5, 8, shard, max_tokens=tokens)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("tokens", [1, 60, 120, 200, 10_000, 2**63])
def test_batches_of_long_pairs_have_fewer_rows(training, tokens):
    batches = limited(training, tokens=tokens)
    found, shapes, counts = [], set(), set()
    for (source, _), labels in batches():
        rows, width = len(source), max(source.shape[1], labels.shape[1] + 1)
        assert rows == 1 or rows * width <= tokens
        assert rows <= 7
        found += [*(source[:, 0] - 10)]
        shapes.add((source.shape, labels.shape))
        counts.add(rows)
    epoch = [1 for _ in batches()]
    assert len(epoch) == len(batches)
    assert len(found) == len({*found})
    if training:
        assert len(shapes) <= 8
        assert counts == {*batches.sizes.tolist()}
    else:
        assert len(found) == PAIRS
    if tokens == 120:  # 3 rows of 40 tokens, and 7 of 17
        assert {3, 7} <= counts
    whole = Batches(corpus(), 7, training, 5, 8, (0, 1))
    same = batches.position.content == whole.position.content
    assert same == (tokens >= 10_000)  # as nothing is limited


def test_limited_batches_train_all_pairs_equally_often():
    """In as many epochs as pairs have batches of a number of rows."""
    batches = limited()
    assert (batches.counts % batches.sizes).any()
    taken = np.zeros((batches.counts.max(), PAIRS), int)
    for row in taken:
        for (source, _), _ in batches():
            row[source[:, 0] - 10] += 1
    assert taken.max() == 1
    group = batches.group[batches.bucket]
    for number, count in enumerate(batches.counts):
        counts = taken[:count, group == number].sum(axis=0)
        assert {*counts} == {count - count % batches.sizes[number]}


@pytest.mark.parametrize(("count", "tokens"), [(32, 200), (64, 500)])
def test_limited_batches_leave_out_few_pairs(count, tokens):
    """At most one for each batch."""
    batches = limited(count=count, tokens=tokens)
    left = batches.counts % batches.sizes
    assert (left <= batches.counts // batches.sizes).all()


@pytest.mark.parametrize("training", [False, True])
def test_processes_share_limited_batches(training):
    """Equally many batches of the same widths, and each pair once."""
    shards = [[*limited(training, (i, 2))()] for i in range(2)]
    every = []
    for batches in zip(*shards, strict=True):
        (one, other) = (source for (source, _), _ in batches)
        assert one.shape[1] == other.shape[1]
        assert len(one) == 1 or one.size <= 120
        assert 0 <= len(one) - len(other) <= (not training)
        every += [*one[:, 0], *other[:, 0]]
    assert len(every) == len({*every})
    assert training or len(every) == PAIRS


def test_one_long_pair_has_a_batch_of_its_own():
    count = 10_000  # of which quantiles do not see a single one
    lengths = np.full((2, count), 10)
    lengths[:, 77] = 9000
    short = np.random.default_rng(0).integers(3, 10, (2, count))
    lengths = np.where(lengths == 10, short, lengths)
    size = BatchSize(64, 4096)
    ends, widths = choose_buckets([lengths], 8, size)
    assert ends[-1] == 9000
    assert widths[-2].max() < 10
    assert [*size.rows(widths)[-2:]] == [64, 1]
