"""The variables of an HDF5 file that Keras 2 wrote, in either format."""

import hashlib
import itertools
from pathlib import Path

import h5py
import numpy as np

from keras_attention.files import reading
from keras_attention.migration.stored import Stored
from keras_attention.migration.stored import base
from keras_attention.migration.stored import natural

# Names for the variables of a layer in a file without names, by their ranks.
FIELDS = {
    (2, 2): "kernel recurrent_kernel",
    (2, 2, 1): "kernel recurrent_kernel bias",
    (2, 2, 2): "kernel recurrent_kernel bias",
    (2, 1): "kernel bias",
    (2,): "kernel",
    (1, 1): "gamma beta",
    (1,): "attention_v",
    (1, 0): "attention_v attention_score_bias",
    (1, 0, 1): "attention_v attention_g attention_b",
    (1, 0, 0, 1): "attention_v attention_score_bias attention_g attention_b",
    (0, 0): "attention_g attention_score_bias",
    (0,): "attention_scalar",
}
SCALARS = {
    "luong_attention": "attention_g",
    "luong_monotonic_attention": "attention_score_bias",
}


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
        ValueError: If it is damaged, or names other files.
    """
    needed = "`source` must be a file of weights that Keras 2 wrote."
    with reading(f"source={str(path)!r}", needed), h5py.File(path) as file:
        _check_links(file)
        root = file.get("model_weights", file)
        names = _names(root, path.stat().st_size)
        found = [(name, np.asarray(root[name])) for name in names]
    if any("/vars/" in f"/{name}" for name, _ in found):
        return _name_positions([Stored((name,), x) for name, x in found])
    return _merge_copies(found)


def _check_links(file):
    """Refuse to read what another file holds."""
    links = []
    file.visititems_links(lambda *link: links.append(link))
    for name, link in links:
        if isinstance(link, h5py.ExternalLink):
            raise OSError(f"{name} is a link to another file, {link.filename}")


def _names(root, size: int) -> list[str]:
    """Return the names of all variables, none of which is in another file.

    Nor are all together larger than the file, so that no memory is taken in
    vain.
    """
    names, sizes = [], []

    def add(name, item):
        if not isinstance(item, h5py.Dataset):
            return
        if item.external or item.is_virtual:
            raise OSError(f"the values of {name} are in another file")
        names.append(name)
        sizes.append(item.nbytes)

    root.visititems(add)
    if sum(sizes) > size:
        raise OSError(f"its variables have {sum(sizes)} bytes, it has {size}")
    return names


def _merge_copies(found: list[tuple[str, np.ndarray]]) -> list[Stored]:
    """Merge the copies of a variable that several layers share.

    A file names each by its layer, and then by its own name.
    """
    merged = {}
    for path, value in found:
        layer, _, name = path.partition("/")
        content = value.shape, hashlib.sha256(value.tobytes()).digest()
        key = name or layer, *content
        merged.setdefault(key, ([], value))[0].append(path)
    return [
        Stored((name, *paths, name), value)
        for (name, *_), (paths, value) in merged.items()
    ]


def _name_positions(variables: list[Stored]) -> list[Stored]:
    """Name the variables whose names end in `vars/0`, `vars/1` and so on.

    Keras numbers the variables of a layer in the order in which it made them.
    Their count and their ranks say what they are; those of a layer of an
    unknown kind keep their numbers.
    """
    ordered = sorted(variables, key=lambda x: natural(x.parts))
    named = []
    for parent, group in itertools.groupby(ordered, lambda x: x.parts[:-1]):
        group = list(group)
        ranks = tuple(x.value.ndim for x in group)
        *layer, last = ("", *parent)
        fields = FIELDS.get(ranks, "") if last == "vars" else ""
        if ranks == (0,):  # of Luong's score; the name of its class says which
            fields = SCALARS.get(base(layer[-1]), fields)
        for x, field in itertools.zip_longest(group, fields.split()):
            more = ["/".join((*parent[:-1], field))] if field else []
            named.append(x._replace(names=(*x.names, *more)))
    return named
