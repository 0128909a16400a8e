"""Stored: names of variables, and their parts."""

import numpy as np

from keras_attention.migration.stored import Stored
from keras_attention.migration.stored import base
from keras_attention.migration.stored import has_run
from keras_attention.migration.stored import natural
from keras_attention.migration.stored import split_name


def test_parts_of_names():
    assert split_name("a/b_1/kernel:0") == ("a", "b_1", "kernel")
    stored = "a/0/kernel/.ATTRIBUTES/VARIABLE_VALUE"
    assert split_name(stored) == ("a", "0", "kernel")
    assert split_name("") == ("",)
    assert base("dense_12") == "dense"
    assert base("layer_norm") == "layer_norm"


def test_counters_are_numbers():
    names = ["cell_10", "cell_2", "cell"]
    ordered = sorted(names, key=lambda x: natural((x,)))
    assert ordered == ["cell", "cell_2", "cell_10"]


def test_a_run_is_of_whole_parts():
    parts = ("model", "wrapper_1", "kernel")
    assert has_run(parts, ("wrapper_1",))
    assert has_run(parts, ("model", "wrapper_1"))
    assert not has_run(parts, ("wrapper",))


def test_the_last_name_is_read_and_the_first_one_is_shown():
    stored = Stored(("rnn/kernel", "wrapper/_cell/kernel"), np.ones((2, 3)))
    assert stored.parts == ("wrapper", "_cell", "kernel")
    assert stored.label == "rnn/kernel (2, 3)"
