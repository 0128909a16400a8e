"""symbolic_result: shapes and dtypes without numbers."""

import keras
from keras import ops

from keras_attention.layers import symbolic_result


def test_it_runs_nothing_and_knows_shapes():
    x = keras.KerasTensor((None, 3), dtype="float16")
    one, (other,) = symbolic_result(
        lambda x: (ops.expand_dims(x, 1), (ops.cast(x > 0, "int32"),)), x
    )
    assert one.shape == (None, 1, 3)
    assert one.dtype == "float16"
    assert other.shape == (None, 3)
    assert other.dtype == "int32"
