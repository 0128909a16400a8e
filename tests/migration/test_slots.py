"""wanted_by: every weight of a target has one place in a TFA program."""

import math

import numpy as np
import pytest
from gradients import to_numpy
from seq2seqs import small_model
from tfa_programs import make_model

import keras_attention as ka
from keras_attention.migration.slots import direction
from keras_attention.migration.slots import wanted_by


@pytest.fixture(scope="module")
def model():
    return make_model("stacked")


def all_slots(wanted):
    parts = [*wanted.attentions, wanted.attentional]
    parts += [unit.slots for unit in wanted.units]
    return [slot for part in parts for slot in part.values()]


def assert_one_slot_each(model):
    ids = [id(slot.weight) for slot in all_slots(wanted_by(model))]
    assert sorted(ids) == sorted(id(x) for x in model.weights)


def test_every_weight_has_one_slot(model):
    assert_one_slot_each(model)


def test_so_has_every_weight_that_scores_words():
    assert_one_slot_each(small_model(copying=True, lexical=True))


def test_weights_that_tfa_does_not_have_are_wanted_too():
    attention = ka.BahdanauAttention(3, alignment=ka.LocalPredictive(2))
    attention.build((None, None, 2), (None, None, 4))
    slots = all_slots(wanted_by(attention))
    assert len(slots) == len(attention.weights) == 5


def test_sides_and_directions_of_a_model(model):
    units = wanted_by(model).units
    told = [(x.side, x.direction) for x in units]
    both = [("source", "forward"), ("source", "backward")]
    embeddings, cells = (
        [("source", None), ("target", None)],
        2 * [("target", None)],
    )
    assert told == [*embeddings, *both, *both, *cells, ("target", None)]
    assert direction(("m", "backward_layer", "cell")) == "backward"
    assert direction(("m", "forwarding")) is None


def test_what_is_laid_out_differently_is_converted(model):
    unit = wanted_by(model).units[0]
    (slot,) = unit.slots.values()
    np.testing.assert_allclose(slot.convert(np.ones(2)), 1 / math.sqrt(4))
    general = ka.LuongGeneral()
    general.build((None, None, 2), (None, None, 3))
    (slots,) = wanted_by(general).attentions
    assert slots["memory"].shape == (3, 2)
    assert to_numpy(general.kernel).shape == (2, 3)


def test_tfa_divides_no_score_by_a_root():
    general = ka.LuongGeneral(use_scale="sqrt")
    general.build((None, None, 2), (None, None, 3))
    with pytest.raises(ValueError, match=r"Received: use_scale='sqrt'"):
        wanted_by(general)


def test_norms_belong_to_their_cell():
    cell = ka.LayerNormLSTMCell(2)
    cell.build((None, 3))
    (unit,) = wanted_by(cell).units
    assert list(unit.slots)[3:5] == ["kernel_norm/gamma", "kernel_norm/beta"]
