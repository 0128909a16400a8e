"""The variables of an HDF5 file that Keras 2 wrote, in either format."""

import re
from pathlib import Path

import h5py
import numpy as np

from keras_attention.files import reading
from keras_attention.migration.names import NUMBERED
from keras_attention.migration.names import Stored
from keras_attention.migration.names import base

WHOLE = "model_weights/"  # in the file of a model with its config


def read_hdf5(path: Path) -> list[Stored]:
    """Read the variables of a `.h5` or a `.weights.h5` file.

    A `.h5` file holds a variable once for each layer that shares it, under the
    layer's name; it is returned once. A `.weights.h5` file has no names of
    variables, only their numbers within a layer, whose name tells what they
    are.

    Args:
        path: The file.

    Returns:
        Its variables.

    Raises:
        ValueError: If it is damaged, or names other files.
    """
    needed = "`source` must be a file of weights that Keras 2 wrote."
    with reading(f"source={str(path)!r}", needed), h5py.File(path) as file:
        names = _names(file, path.stat().st_size)
        whole = [x for x in names if x.startswith(WHOLE)]
        found = [
            (name.removeprefix(WHOLE), np.asarray(file[name]))
            for name in whole or names
        ]
    if any("/vars/" in f"/{name}" for name, _ in found):
        return [
            Stored((name, _name_number(name, names)), x) for name, x in found
        ]
    merged = {}  # copies, each by the name of a layer and then by its own
    for path, value in found:
        layer, _, name = path.partition("/")
        key = name or layer, value.shape, value.tobytes()
        merged.setdefault(key, ([], value))[0].append(path)
    return [
        Stored((name, *paths, name), value)
        for (name, *_), (paths, value) in merged.items()
    ]


def _names(file, size: int) -> list[str]:
    """Return the names of all variables, none of which is in another file.

    Nor are all together larger than the file, so that no memory is taken in
    vain.
    """
    links, names, total = {}, [], 0
    file.visititems_links(links.__setitem__)
    for name, link in links.items():
        item = file[name] if isinstance(link, h5py.HardLink) else link
        is_data = isinstance(item, h5py.Dataset)
        virtual = is_data and (item.external or item.is_virtual)
        if virtual or isinstance(link, h5py.ExternalLink):
            raise OSError(f"the values of {name} are in another file")
        if is_data:
            names.append(name)
            total += item.nbytes
    if total > size:
        raise OSError(f"its variables have {total} bytes, it has {size}")
    return names


def _name_number(name: str, names: list[str]) -> str:
    """Name a variable `LAYER/vars/0` by what a layer of that name has.

    What the dictionary does not have keeps its number.
    """
    owner, _, number = name.rpartition("/vars/")
    count = sum(x.startswith(f"{owner}/vars/") for x in names)
    layer = f"{base(owner.rpartition('/')[2])}/{count}"
    for pattern, fields in NUMBERED.items():
        if re.fullmatch(rf"{pattern}(/\d+)?", layer):
            field = fields.split()[int(number) :][:1]
            return f"{owner}/{field[0]}" if field else name
    return name
