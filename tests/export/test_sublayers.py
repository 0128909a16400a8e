"""sublayers: every layer inside of a layer, once, wherever it is kept."""

import keras
import pytest
from keras import layers

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention import RecurrentEncoder
    from keras_attention.export.sublayers import sublayers


class Holder(layers.Layer):
    """Keeps what it is given as attributes."""

    def __init__(self, **kept):
        super().__init__()
        for name, value in kept.items():
            setattr(self, name, value)


def test_all_of_an_encoder_is_found():
    found = sublayers(RecurrentEncoder(2, depth=2, cell="gru"))
    names = [type(layer).__name__ for layer in found]
    assert names.count("GRUCell") == names.count("GRU") == 4
    assert names.count("Bidirectional") == 2
    assert names.count("Dropout") == 1
    assert {f"bidirectional_{i}" for i in range(2)} <= {x.name for x in found}


def test_stacked_cells_are_found():
    cells = [layers.LSTMCell(2), layers.GRUCell(2)]
    found = sublayers(layers.RNN(cells))
    assert {*cells} <= {*found}
    assert len(found) == 4  # the loop and the stack beside them


def test_lists_dictionaries_and_inner_layers_are_searched():
    dense = [layers.Dense(1, name=f"d{i}") for i in range(7)]
    inner = Holder(_hidden=dense[0])
    outer = Holder(
        inner=inner,
        several=[dense[1], (dense[2], [dense[3]])],
        named={"a": dense[4], "b": {"c": [dense[5]]}},
        unordered={dense[6]},
        other=["no layer", 3, None],
    )
    found = sublayers(outer)
    assert found[0] is outer
    assert {*found} == {outer, inner, *dense}


def test_a_layer_that_is_shared_comes_once():
    shared = layers.Dense(1)
    outer = Holder(a=shared, b=[shared, shared], c=Holder(d=shared))
    assert [layer is shared for layer in sublayers(outer)].count(True) == 1
    assert len(sublayers(outer)) == 3


def test_layers_that_hold_each_other_come_to_an_end():
    first, second = Holder(), Holder()
    first.others, second.others = {"a": [second]}, {"b": [first]}
    assert {*sublayers(first)} == {first, second}


def test_models_of_every_kind_are_searched():
    x = keras.Input((None, 3))
    lstm, dense = layers.LSTM(2), layers.Dense(1)
    model = keras.Model(x, dense(lstm(x)))
    assert {lstm, lstm.cell, dense} <= {*sublayers(model)}
    again = keras.Sequential([model, layers.Dense(3)])
    assert {lstm.cell, model, *again.layers} <= {*sublayers(again)}
