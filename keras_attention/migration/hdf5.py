"""The variables of an HDF5 file that Keras 2 wrote, in either format."""

from pathlib import Path

import h5py
import numpy as np

from keras_attention.migration.positions import name_positions
from keras_attention.migration.stored import Stored


def read_hdf5(path: Path) -> list[Stored]:
    """Read the variables of a `.h5` or a `.weights.h5` file.

    A `.h5` file holds a variable once for each layer that shares it, under the
    layer's name; it is returned once. A `.weights.h5` file has no names of
    variables, only their numbers within a layer.

    Args:
        path: The file.

    Returns:
        Its variables.

    Raises:
        ValueError: If it is damaged.
    """
    try:
        with h5py.File(path) as file:
            _check_sizes(file, path.stat().st_size)
            root = file.get("model_weights", file)
            if "layer_names" in root.attrs:
                return _unique(_read_layers(root))
            found = list(_read_datasets(root))
    except (OSError, RuntimeError, KeyError, TypeError) as error:
        raise ValueError(
            "`source` must be a file of weights that Keras 2 wrote. Received: "
            f"source={str(path)!r}, which cannot be read: {error}"
        ) from error
    if any("/vars/" in f"/{name}" for name, _ in found):
        return name_positions([Stored((name,), x) for name, x in found])
    parts = [(*name.partition("/"), x) for name, x in found]
    return _unique((layer, inner or layer, x) for layer, _, inner, x in parts)


def _check_sizes(file, size: int):
    """Refuse variables that are larger than the file, before memory is used."""

    def check(name, item):
        if isinstance(item, h5py.Dataset) and item.nbytes > size:
            raise OSError(f"{name} has {item.nbytes} bytes, the file {size}")

    file.visititems(check)


def _read_layers(root):
    """Yield layer, name and value of every variable of a `.h5` file."""
    for layer, group in root.items():
        names = _names(group.attrs) or [x for x, _ in _read_datasets(group)]
        for name in names:
            yield layer, name, np.asarray(group[name])


def _names(attributes):
    """Return the names of a layer's variables; many come in several parts."""
    whole = attributes.get("weight_names")
    parts = [whole] if whole is not None else []
    while (more := attributes.get(f"weight_names{len(parts)}")) is not None:
        parts.append(more)
    names = [name for part in parts for name in part]
    return [x.decode() if isinstance(x, bytes) else str(x) for x in names]


def _read_datasets(root):
    """Yield path and value of every dataset of a file."""
    paths = []
    root.visititems(
        lambda path, item: (
            paths.append(path) if isinstance(item, h5py.Dataset) else None
        )
    )
    for path in paths:
        yield path, np.asarray(root[path])


def _unique(found) -> list[Stored]:
    """Merge the copies of a variable that several layers share."""
    merged = {}
    for layer, name, value in found:
        same = merged.setdefault(name, [])
        for layers, known in same:
            if known.shape == value.shape and np.array_equal(known, value):
                layers.append(f"{layer}/{name}")
                break
        else:
            same.append(([f"{layer}/{name}"], value))
    return [
        Stored((name, *layers, name), value)
        for name, same in merged.items()
        for layers, value in same
    ]
