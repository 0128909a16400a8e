"""alignment_error_rate: the published formula, by hand and by plain sets."""

import numpy as np
import pytest

from keras_attention import alignment_error_rate

SHAPES = [(3, 4), (5, 2), (1, 1), (6, 6)]


def sentences(seed=0):
    """Weights, sure and possible links, of sentences of many sizes."""
    rng = np.random.default_rng(seed)
    weights = [rng.dirichlet(np.ones(n), size=t) for t, n in SHAPES]
    sure = [rng.uniform(size=shape) < 0.3 for shape in SHAPES]
    possible = [rng.uniform(size=shape) < 0.4 for shape in SHAPES]
    return weights, sure, possible


def by_sets(weights, sure, possible):
    """Och and Ney's formula over the links of all sentences, one by one."""
    found, right, may_be = set(), set(), set()
    for n, scores in enumerate(weights):
        for t, row in enumerate(scores.tolist()):
            if max(row) > 0:
                found.add((n, t, row.index(max(row))))
        right |= {(n, *pair) for pair in np.argwhere(sure[n]).tolist()}
        may_be |= {(n, *pair) for pair in np.argwhere(possible[n]).tolist()}
    may_be |= right
    hits = len(found & right) + len(found & may_be)
    return 1 - hits / (len(found) + len(right))


def padded(matrices, fill, shape=(7, 8)):
    """One batch, with `fill` in the padding, and its mask."""
    batch = np.full((len(matrices), *shape), fill, float)
    mask = np.zeros(batch.shape, bool)
    for n, matrix in enumerate(matrices):
        rows, columns = matrix.shape
        batch[n, :rows, :columns] = matrix
        mask[n, :rows, :columns] = True
    return batch, mask


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_sets_of_links(seed):
    weights, sure, possible = sentences(seed)
    got = alignment_error_rate(weights, sure, possible=possible)
    assert isinstance(got, float)
    assert got == pytest.approx(by_sets(weights, sure, possible))
    got = alignment_error_rate(weights, sure)
    assert got == pytest.approx(by_sets(weights, sure, sure))


def test_masked_links_do_not_matter():
    weights, sure, possible = sentences()
    batch, mask = padded(weights, 3.0)
    gold, allowed = padded(sure, 1)[0], padded(possible, 1)[0]
    got = alignment_error_rate(batch, gold, allowed, mask=mask)
    assert got == pytest.approx(by_sets(weights, sure, possible))
    assert got != alignment_error_rate(batch, gold, allowed)


def test_the_first_of_equals_is_the_link():
    assert alignment_error_rate([[0.4, 0.4, 0.2]], [[1, 0, 0]]) == 0
    assert alignment_error_rate([[0.4, 0.4, 0.2]], [[0, 1, 0]]) == 1


def test_a_word_without_weight_has_no_link():
    weights = [[0.0, 0.0], [0.5, 0.5]]
    assert alignment_error_rate(weights, [[0, 0], [1, 0]]) == 0
    got = alignment_error_rate(weights, [[1, 0], [1, 0]])
    assert got == pytest.approx(1 - 2 / 3)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((np.ones((2, 3)), np.ones((3, 2))), "`gold` must have the shapes"),
        ((np.ones((2, 2, 3)), np.ones((2, 3))), "`gold` must have"),
        ((np.ones((1, 3)), np.ones((1, 3)), np.ones((1, 2))), "`possible`"),
        (
            (np.ones((1, 3)), np.ones((1, 3)), None, np.ones((2, 3))),
            "`mask` must have the shapes",
        ),
        ((np.ones((1, 1, 2, 3)), np.ones((2, 3))), "`weights` must be a mat"),
        ((np.ones((2, 0)), np.ones((2, 0))), "that are not empty"),
        (([[np.nan, 0.5]], [[1, 0]]), "`weights` must be finite"),
    ],
)
def test_refuses_what_does_not_fit(given, says):
    with pytest.raises(ValueError, match=says):
        alignment_error_rate(*given)
