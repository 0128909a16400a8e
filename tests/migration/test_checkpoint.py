"""read_checkpoint: names of objects, and the ways through a wrapper."""

import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow
tf = pytest.importorskip("tensorflow")

from tfa_programs import GOLDEN  # noqa: E402

from keras_attention.migration.checkpoint import find_checkpoint  # noqa: E402
from keras_attention.migration.checkpoint import read_checkpoint  # noqa: E402


def wrapper():
    """Objects as in a program: an AttentionWrapper and what it shares."""
    root = tf.Module()
    root.rnn = tf.Module()
    root.rnn.kernel = tf.Variable(np.ones((2, 3), "float32"))
    root.mine = tf.Module()
    root.mine.inner = tf.Module()
    root.mine.inner._cell = root.rnn
    root.mine.inner._attention_mechanisms = []
    return root


def test_a_way_through_a_wrapper_is_a_further_name(tmp_path):
    path = tf.train.Checkpoint(model=wrapper()).save(tmp_path / "ckpt")
    found = {x.names[0]: x.names[-1] for x in read_checkpoint(path)}
    assert found["model/rnn/kernel"] == "model/mine/inner/_cell/kernel"
    assert found["save_counter"] == "save_counter"


def test_a_variable_in_a_list_has_the_name_it_was_given(tmp_path):
    root = tf.Module()
    root.all = [tf.Variable(1.0, name="lstm/bias")]
    tf.saved_model.save(root, tmp_path)
    path = find_checkpoint(tmp_path)
    names = [x.names for x in read_checkpoint(path)]
    assert ("all/0", "lstm/bias") in names


def test_slashes_within_a_name(tmp_path):
    holder = {"wrapper/_cell/kernel:0": tf.Variable(1.0)}
    path = tf.train.Checkpoint(all=holder).save(tmp_path / "ckpt")
    names = [x.names[0] for x in read_checkpoint(path)]
    assert "all/wrapper/_cell/kernel:0" in names


def test_a_checkpoint_is_found_by_its_name_its_folder_and_a_saved_model():
    folder = GOLDEN / "checkpoint"
    assert find_checkpoint(folder / "ckpt-1") == folder / "ckpt-1"
    assert find_checkpoint(folder) == folder / "ckpt-1"
    inside = GOLDEN / "saved_model" / "variables" / "variables"
    assert find_checkpoint(GOLDEN / "saved_model") == inside
    assert find_checkpoint(folder / "ckpt-2") is None


def test_a_damaged_checkpoint_is_named(tmp_path):
    (tmp_path / "ckpt-1.index").write_bytes(b"no index")
    with pytest.raises(ValueError, match="ckpt-1"):
        read_checkpoint(tmp_path / "ckpt-1")
