"""read_hdf5: variables that several layers share, and files without names."""

import h5py
import numpy as np
import pytest

from keras_attention.migration.hdf5 import read_hdf5

KERNEL = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.h5"


def write(path, datasets, attributes=None, root=""):
    with h5py.File(path, "w") as file:
        for name, value in datasets.items():
            file[f"{root}{name}"] = value
        for (group, name), value in (attributes or {}).items():
            file[f"{root}{group}"].attrs[name] = value


@pytest.mark.parametrize("names", ["weight_names", "weight_names0", "none"])
@pytest.mark.parametrize("root", ["", "model_weights/"])
def test_a_shared_variable_is_read_once(path, names, root):
    layers = ["wrapper", "mechanism"]
    write(
        path,
        {f"{layer}/m/kernel:0": KERNEL for layer in layers},
        {
            ("/", "layer_names"): [b"wrapper", b"mechanism"],
            **{(layer, names): [b"m/kernel:0"] for layer in layers},
        },
        root,
    )
    (found,) = read_hdf5(path)
    assert found.names[0] == found.names[-1] == "m/kernel:0"
    assert set(found.names[1:-1]) == {f"{x}/m/kernel:0" for x in layers}
    np.testing.assert_array_equal(found.value, KERNEL)


def test_without_names_of_layers_paths_tell_the_same(path):
    write(path, {"one/m/kernel:0": KERNEL, "two/m/kernel:0": KERNEL})
    (found,) = read_hdf5(path)
    assert found.names[-1] == "m/kernel:0"


def test_different_variables_of_one_name_stay_two(path):
    write(path, {"one/m/kernel:0": KERNEL, "two/m/kernel:0": 2 * KERNEL})
    assert len(read_hdf5(path)) == 2


def test_numbers_become_names(path):
    write(path, {"out/vars/0": KERNEL, "out/vars/1": np.ones(3)})
    assert [x.names[-1] for x in read_hdf5(path)] == ["out/kernel", "out/bias"]


def test_a_damaged_file_is_named(path):
    write(path, {"one/m/kernel:0": np.zeros((50, 50))})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"weights\.h5"):
        read_hdf5(path)


def test_a_variable_larger_than_its_file_takes_no_memory(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("one/m/kernel:0", (10**6, 10**6), "f4")
    with pytest.raises(ValueError, match="one/m/kernel:0 has 4000000000000"):
        read_hdf5(path)
