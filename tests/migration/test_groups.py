"""sort_variables: what belongs together, by names."""

import numpy as np
import pytest

from keras_attention.migration.groups import side
from keras_attention.migration.groups import sort_variables
from keras_attention.migration.stored import Stored


def sort(*names):
    return sort_variables([Stored((x,), np.zeros(1)) for x in names])


def owners(groups):
    return ["/".join(x.owner) for x in groups]


def test_variables_of_one_object_stay_together():
    found = sort(
        "enc/lstm_cell/kernel",
        "enc/lstm_cell/recurrent_kernel",
        "enc/lstm_cell/kernel_norm/gamma",
        "enc/embedding/embeddings",
    )
    assert owners(found.units) == ["enc/lstm_cell", "enc/embedding"]
    fields = ["kernel", "recurrent_kernel", "kernel_norm/gamma"]
    assert list(found.units[0].fields) == fields


def test_counters_give_the_order():
    found = sort("gru_cell_10/kernel", "lstm_cell/kernel", "gru_cell_9/kernel")
    assert owners(found.units) == ["gru_cell_9", "lstm_cell", "gru_cell_10"]


def test_mechanisms_by_name_by_layers_and_by_their_own_variables():
    found = sort(
        "m/BahdanauAttention/memory_layer/kernel",
        "m/attention_wrapper_2/BahdanauAttention/kernel",
        "m/attention_wrapper_2/BahdanauAttention/attention_v",
        "m/mine/attention_g",
        "m/mine/kernel",
        "m/dense/kernel",
    )
    fields = [field for _, field, _ in found.mechanisms]
    assert fields == ["memory", "kernel", "vector", "gain", "kernel"]
    assert owners(found.units) == ["m/dense"]


@pytest.mark.parametrize(
    "name",
    [
        "m/attention_wrapper/attention_layer/kernel",
        "m/wrapper/_attention_layers/0/kernel",
        "m/attention_wrapper_3/dense_7/kernel",
    ],
)
def test_attentional_layers(name):
    found = sort(name, "m/dense/kernel", "w/_cell/kernel")
    assert owners(found.attentional) == [name.rpartition("/")[0]]
    assert owners(found.units) == ["m/dense", "w/_cell"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("model/encoder/lstm/lstm_cell", "source"),
        ("model/bidirectional_2/forward_lstm/lstm_cell", "source"),
        ("encoder_decoder/decoder/dense", "target"),
        ("encoder/attention_wrapper/lstm_cell", "target"),
        ("wrapper/_cell/cells/0", "target"),
        ("encoder_decoder/dense", None),
        ("model/dense", None),
    ],
)
def test_the_last_part_that_tells_a_side_counts(name, wanted):
    assert side(tuple(name.split("/"))) == wanted
