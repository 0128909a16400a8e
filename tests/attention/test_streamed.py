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
from keras_attention import Monotonic
from keras_attention import MultiHead


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
