"""What attention layers say to a stream, beyond what streams themselves test.

`tests/models/test_stream_checks.py` has all that is refused.
"""

import pytest

from keras_attention import BahdanauAttention
from keras_attention import DotAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import LocalMonotonic
from keras_attention import Monotonic
from keras_attention import MultiHead
from keras_attention.attention.streamed import find_reading
from keras_attention.attention.streamed import harden


def test_a_layer_reads_as_its_alignment_does():
    layer = BahdanauAttention(3, alignment=LocalMonotonic(4))
    assert find_reading(layer).before == 4
    assert harden(layer) == []


def test_all_heads_become_hard():
    attention = MultiHead(BahdanauAttention(3, alignment=Monotonic()), 2)
    assert len(harden(attention)) == 2
    assert {head.aligner.mode for head in attention.heads} == {"hard"}
    again = MultiHead.from_config(attention.get_config())
    assert again.heads[1].aligner.mode == "hard"


def test_a_layer_without_an_alignment_stays():
    assert harden(GaussianMixtureAttention(2)) == []


def test_a_subclass_may_change_what_is_no_weight():
    class Own(DotAttention):
        def score(self, query, keys):
            return 2 * super().score(query, keys)

    assert find_reading(Own(alignment=Monotonic("hard"))).before == 0
    with pytest.raises(ValueError, match="harden"):
        find_reading(Own(alignment=Monotonic()))
