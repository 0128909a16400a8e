"""wanted_by: every weight of a target has one place in a TFA program."""

import numpy as np
import pytest
from seq2seqs import small_model
from tfa_programs import make_model

import keras_attention as ka
from keras_attention import load_tfa_weights
from keras_attention.migration.slots import wanted_by


def slots_of(target):
    wanted = wanted_by(target)
    units = [*wanted.attentions, *wanted.attentional, *wanted.units]
    return [slot for unit in units for slot in unit.slots.values()]


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_model("stacked"),
        lambda: make_model("dense_bridge"),
        lambda: small_model(copying=True, lexical=True),
    ],
)
def test_every_weight_has_one_slot(make):
    model = make()
    ids = [id(slot.weight) for slot in slots_of(model)]
    assert sorted(ids) == sorted(id(x) for x in model.weights)


def test_weights_that_tfa_does_not_have_are_wanted_too():
    attention = ka.BahdanauAttention(3, alignment=ka.LocalPredictive(2))
    attention.build((None, None, 2), (None, None, 4))
    slots = slots_of(attention)
    assert len(slots) == len(attention.weights) == 5


def test_tfa_divides_no_score_by_a_root():
    general = ka.LuongGeneral(use_scale="sqrt")
    general.build((None, None, 2), (None, None, 3))
    with pytest.raises(ValueError, match=r"Received: use_scale='sqrt'"):
        load_tfa_weights(general, {"kernel": np.ones((3, 2))})


def test_norms_belong_to_their_cell():
    cell = ka.LayerNormLSTMCell(2)
    cell.build((None, 3))
    (unit,) = wanted_by(cell).units
    assert list(unit.slots)[3:5] == ["kernel_norm/gamma", "kernel_norm/beta"]
