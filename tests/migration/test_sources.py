"""load_tfa_weights: weights of any source, and some of them by a prefix."""

import os

import h5py
import keras
import ml_dtypes
import numpy as np
import pytest
import samples
from gradients import to_numpy
from tfa_programs import GOLDEN

from keras_attention import load_tfa_weights
from keras_attention.migration.sources import read_hdf5
from keras_attention.migration.sources import read_variables
from keras_attention.migration.sources import select

ONE = np.ones((2, 3), "float32")
NAMES = ["a/wrapper/kernel:0", "a_2/wrapper/kernel:0", "b/wrapper_1/kernel:0"]


def test_optimizers_and_counters_are_no_weights():
    found = read_variables(
        {
            "a/kernel:0": ONE,
            "save_counter": np.int64(3),
            "optimizer/_variables/1": ONE,
            "optimizer/_learning_rate": np.float32(0.1),
            "optimizer/vars/2": ONE,
            "a/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES": ONE,
            "Adam/m/a/kernel:0": ONE,
        }
    )
    assert [x.names[0] for x in found] == ["a/kernel:0"]


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64"])
def test_any_floating_point_is_a_weight(dtype):
    cell = keras.layers.Dense(3)
    cell.build((None, 2))
    kernel = samples.draw(2, 3).astype(dtype)
    load_tfa_weights(cell, {"a/kernel": kernel, "a/bias": np.ones(3, dtype)})
    got = to_numpy(cell.kernel)
    np.testing.assert_allclose(got, kernel.astype("float64"), atol=1e-6)


@pytest.mark.parametrize(
    ("prefix", "count"),
    [("", 3), ("a", 1), ("a/wrapper/", 1), ("wrapper", 2)],
)
def test_a_prefix_selects(prefix, count):
    found = read_variables(dict.fromkeys(NAMES, ONE))
    assert len(select(found, prefix)) == count


def test_a_prefix_that_no_name_has():
    found = read_variables(dict.fromkeys(NAMES, ONE))
    with pytest.raises(ValueError, match="a_2/wrapper/kernel"):
        select(found, "nowhere")


@pytest.mark.parametrize("name", ["damaged.h5", "ckpt-1.index"])
def test_a_file_that_is_none_of_these_says_so(tmp_path, name):
    (tmp_path / name).write_bytes(b"nothing that Keras wrote")
    with pytest.raises(ValueError, match=f"{name}', which has another format"):
        read_variables(tmp_path / name)


# Checkpoints.


@pytest.fixture
def tf():
    return pytest.importorskip("tensorflow", reason="it reads checkpoints")


@pytest.fixture
def module(tf):
    """Objects as in a program: an AttentionWrapper and what it shares."""
    root = tf.Module()
    root.rnn = tf.Module()
    root.rnn.kernel = tf.Variable(ONE)
    root.mine = tf.Module()
    root.mine.inner = tf.Module()
    root.mine.inner._cell = root.rnn
    root.mine.inner._attention_mechanisms = []
    root.all = [tf.Variable(1.0, name="lstm/bias")]
    root.holder = {"wrapper/_cell/kernel:0": tf.Variable(1.0)}
    return root


@pytest.mark.tensorflow
def test_names_of_a_checkpoint(tf, module, tmp_path):
    """A way through a wrapper, or in a list the name it was given, is one."""
    path = tf.train.Checkpoint(model=module).save(tmp_path / "ckpt")
    found = {x.names[0]: x.names[-1] for x in read_variables(path)}
    assert found == {
        "model/rnn/kernel": "model/mine/inner/_cell/kernel",
        "model/all/0": "lstm/bias",
        "model/holder/wrapper/_cell/kernel:0": (
            "model/holder/wrapper/_cell/kernel:0"
        ),
    }


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", ["checkpoint", "checkpoint/ckpt-1"])
def test_a_checkpoint_is_found_by_its_folder_or_its_name(path):
    assert len(read_variables(GOLDEN / path)) == 19


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", ["checkpoint/ckpt-2", "nowhere"])
def test_a_checkpoint_that_is_not_there(path):
    with pytest.raises(ValueError, match="which does not exist"):
        read_variables(GOLDEN / path)


@pytest.mark.tensorflow
def test_a_damaged_checkpoint_is_named(tmp_path):
    (tmp_path / "ckpt-1.index").write_bytes(b"no index")
    with pytest.raises(ValueError, match="ckpt-1"):
        read_variables(tmp_path / "ckpt-1")


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", ["link", "pipe", "elsewhere"])
def test_no_file_of_another_folder_is_read(tf, module, tmp_path, kind):
    folder, other = tmp_path / "folder", tmp_path / "other"
    saved = tf.train.Checkpoint(model=module).save(other / "ckpt")
    folder.mkdir()
    if kind == "elsewhere":
        (folder / "checkpoint").write_text(f'model_checkpoint_path: "{saved}"')
        with pytest.raises(ValueError, match=r"names '.*other/ckpt-1'"):
            read_variables(folder)
        return
    for file in other.glob("ckpt-1.*"):
        (folder / file.name).write_bytes(file.read_bytes())
    data = folder / "ckpt-1.data-00000-of-00001"
    data.unlink()
    data.symlink_to(other / data.name) if kind == "link" else os.mkfifo(data)
    with pytest.raises(ValueError, match=r"\.data-00000-of-00001 is not"):
        read_variables(folder / "ckpt-1")


# HDF5 files.


KERNEL = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.h5"


def write(path, datasets):
    with h5py.File(path, "w") as file:
        for name, value in datasets.items():
            file[name] = value


@pytest.mark.parametrize("root", ["", "model_weights/"])
def test_a_shared_variable_is_read_once(path, root):
    layers = ["wrapper", "mechanism"]
    write(path, {f"{root}{layer}/m/kernel:0": KERNEL for layer in layers})
    (found,) = read_hdf5(path)
    assert found.names[0] == found.names[-1] == "m/kernel:0"
    assert set(found.names[1:-1]) == {f"{x}/m/kernel:0" for x in layers}
    np.testing.assert_array_equal(found.value, KERNEL)


def test_different_variables_of_one_name_stay_two(path):
    write(path, {"one/m/kernel:0": KERNEL, "two/m/kernel:0": 2 * KERNEL})
    assert len(read_hdf5(path)) == 2


@pytest.mark.parametrize(
    ("layer", "fields"),
    [
        ("bahdanau_attention", "attention_v"),
        ("bahdanau_attention_1", "attention_v attention_g attention_b"),
        (
            "bahdanau_monotonic_attention",
            "attention_v attention_score_bias attention_g attention_b",
        ),
        ("luong_attention_1", "attention_g"),
        ("luong_monotonic_attention", "attention_score_bias"),
        ("luong_monotonic_attention_1", "attention_g attention_score_bias"),
        ("memory_layer", "kernel"),
        ("_cell", "kernel recurrent_kernel bias"),
        ("lstm_cell_3", "kernel recurrent_kernel bias"),
        ("source_embedding", "embeddings"),
        ("dense_1", "kernel bias"),
        ("kernel_norm", "gamma beta"),
        ("mine", "0 1"),
    ],
)
def test_names_of_layers_tell_the_names_of_numbers(path, layer, fields):
    fields = fields.split()
    write(path, {f"a/{layer}/vars/{i}": i for i in range(len(fields))})
    found = read_hdf5(path)
    assert [x.parts[-1] for x in found] == fields
    assert [x.names[0] for x in found] == [
        f"a/{layer}/vars/{i}" for i in range(len(fields))
    ]


def test_a_damaged_file_is_named(path):
    write(path, {"one/m/kernel:0": np.zeros((50, 50))})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"weights\.h5"):
        read_hdf5(path)


def test_a_variable_larger_than_its_file_takes_no_memory(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("one/m/kernel:0", (10**6, 10**6), "f4")
    with pytest.raises(ValueError, match="variables have 4000000000000 bytes"):
        read_hdf5(path)


def test_many_variables_take_no_more_memory_than_their_file(path):
    """Each of them is smaller than the file, as zeros are packed to nothing."""
    packed = {"dtype": "f4", "compression": "gzip"}
    with h5py.File(path, "w") as file:
        file["one/m/kernel:0"] = np.ones(2500, "f4")
        for k in range(10):
            file.create_dataset(f"m{k}/m/kernel:0", (2500,), **packed)
    assert path.stat().st_size > 4 * 2500
    with pytest.raises(ValueError, match="variables have 110000 bytes"):
        read_hdf5(path)


def external(file, name, other):
    file.create_dataset(name, (2, 3), "f8", external=[(str(other), 0, 48)])


def virtual(file, name, other):
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[:] = h5py.VirtualSource(str(other), "m/kernel", (2, 3))
    file.create_virtual_dataset(name, layout)


def link(file, name, other):
    file[name] = h5py.ExternalLink(str(other), "m/kernel")


def linked_folder(file, name, other):
    file[name.partition("/")[0]] = h5py.ExternalLink(str(other), "m")


def linked_root(file, name, other):
    file["model_weights"] = h5py.ExternalLink(str(other), "/")


@pytest.mark.parametrize(
    "make", [external, virtual, link, linked_folder, linked_root]
)
def test_what_another_file_holds_is_not_read(path, tmp_path, make):
    other = tmp_path / "other.h5"
    write(other, {"m/kernel": KERNEL})
    with h5py.File(path, "w") as file:
        make(file, "m/kernel", other)
    layer = keras.layers.Embedding(2, 3)
    layer.build((None,))
    before = to_numpy(layer.embeddings)
    with pytest.raises(ValueError, match=r"weights\.h5.* another file"):
        load_tfa_weights(layer, path)
    np.testing.assert_array_equal(to_numpy(layer.embeddings), before)
