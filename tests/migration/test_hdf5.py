"""load_tfa_weights of an HDF5 file: shared variables, and none of others."""

import h5py
import keras
import numpy as np
import pytest
from gradients import to_numpy

from keras_attention import load_tfa_weights
from keras_attention.migration.hdf5 import read_hdf5

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
