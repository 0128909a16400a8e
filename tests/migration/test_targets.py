"""Every weight of a target has one place in a TFA program."""

import numpy as np
import pytest
from seq2seqs import small_model
from tfa_programs import make_model

import keras_attention as ka
from keras_attention import load_tfa_weights
from keras_attention.migration.targets import needed_by


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_model("stacked"),
        lambda: small_model(copying=True, lexical=True),
    ],
)
def test_every_weight_has_one_slot(make):
    model = make()
    slots = [x for one in needed_by(model) for x in one.fields.values()]
    ids = [id(slot.weight) for slot in slots]
    assert sorted(ids) == sorted(id(x) for x in model.weights)


def test_weights_that_tfa_does_not_have_are_wanted_too():
    attention = ka.BahdanauAttention(3, alignment=ka.LocalPredictive(2))
    attention.build((None, None, 2), (None, None, 4))
    with pytest.raises(ValueError, match=r"position_kernel \(2, 2\)"):
        load_tfa_weights(attention, {"attention_v": np.ones(3)})


def test_tfa_divides_no_score_by_a_root():
    general = ka.LuongGeneral(use_scale="sqrt")
    general.build((None, None, 2), (None, None, 3))
    with pytest.raises(ValueError, match=r"Received: .* use_scale='sqrt'"):
        load_tfa_weights(general, {"kernel": np.ones((3, 2))})
