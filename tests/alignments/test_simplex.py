"""SimplexAlignment: each mapping under the whole contract."""

import numpy as np
import pytest
from contracts.alignment import AlignmentContract

from keras_attention import DotAttention
from keras_attention.alignments import SimplexAlignment


def by_bisection(share):
    """Find the threshold by halving, for an independent answer."""

    def one(scores, seen):
        if not seen.any():
            return np.zeros(len(scores))
        low, high = scores[seen].min() - 3, scores[seen].max()
        for _ in range(200):
            middle = (low + high) / 2
            enough = share(scores - middle)[seen].sum() >= 1
            low, high = (middle, high) if enough else (low, middle)
        return share(scores - low) * seen

    return lambda scores, mask: np.array(list(map(one, scores, mask)))


SPARSE = by_bisection(lambda x: np.maximum(x, 0))
ENTMAX = by_bisection(lambda x: np.maximum(x, 0) ** 2)


@pytest.mark.variant
class TestSparsemax(AlignmentContract):
    alignment_class = SimplexAlignment
    alignment_kwargs = {"mapping": "sparsemax"}
    dense = False

    def reference_align(self, scores, mask, real, query, weights):
        return SPARSE(scores, mask)


class TestEntmax15(AlignmentContract):
    alignment_class = SimplexAlignment
    alignment_kwargs = {"mapping": "entmax15"}
    dense = False

    def reference_align(self, scores, mask, real, query, weights):
        return ENTMAX(scores / 2, mask)


def test_softmax_is_what_layers_start_with():
    layer = DotAttention()
    assert layer.alignment == "softmax"
    assert layer.aligner.mapping == "softmax"
