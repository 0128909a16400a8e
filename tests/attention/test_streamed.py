"""What attention layers say to a stream, beyond what streams themselves test.

`tests/streaming/test_parts.py` has all that is refused.
"""

import keras
import numpy as np
import pytest
from samples import assert_close
from samples import draw
from samples import randomize
from samples import to_numpy

from keras_attention import BahdanauAttention
from keras_attention import ChunkwiseAttention
from keras_attention import DotAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import LocalMonotonic
from keras_attention import Monotonic
from keras_attention import MultiHead


def test_a_layer_reads_as_its_alignment_does():
    layer = BahdanauAttention(3, alignment=LocalMonotonic(4))
    assert layer.reading().before == 4
    assert layer.harden() == []


def test_all_heads_become_hard():
    attention = MultiHead(BahdanauAttention(3, alignment=Monotonic()), 2)
    assert len(attention.harden()) == 2
    assert {head.aligner.mode for head in attention.heads} == {"hard"}
    again = MultiHead.from_config(attention.get_config())
    assert again.heads[1].aligner.mode == "hard"


@pytest.mark.parametrize(
    "make",
    [
        lambda soft: MultiHead(soft, 2),
        lambda soft: ChunkwiseAttention(soft, DotAttention(), 2),
    ],
    ids=["heads", "chunks"],
)
def test_what_became_hard_is_saved_hard(tmp_path, make):
    layer = make(BahdanauAttention(3, alignment=Monotonic()))
    query, value = keras.Input((3, 4)), keras.Input((5, 4))
    model = keras.Model([query, value], layer(query, value))
    randomize(model, scale=1.0)
    given = [draw(2, n, 4, seed=n, dtype="float32") for n in (3, 5)]
    soft = to_numpy(model(given))
    assert layer.harden()
    hard = to_numpy(model(given))
    assert np.abs(soft - hard).max() > 0.01
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert_close(again(given), hard, 1e-6)


def test_a_layer_without_an_alignment_stays():
    assert GaussianMixtureAttention(2).harden() == []


def test_a_subclass_may_change_what_is_no_weight():
    class Own(DotAttention):
        def score(self, query, keys):
            return 2 * super().score(query, keys)

    assert Own(alignment=Monotonic("hard")).reading().before == 0
    with pytest.raises(ValueError, match="harden"):
        Own(alignment=Monotonic()).reading()
