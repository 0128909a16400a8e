"""The variables of a program of TensorFlow and Keras 2, whatever holds them."""

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from keras_attention.checks import described
from keras_attention.migration.checkpoint import find_checkpoint
from keras_attention.migration.checkpoint import read_checkpoint
from keras_attention.migration.hdf5 import read_hdf5
from keras_attention.migration.stored import Stored
from keras_attention.migration.stored import has_run
from keras_attention.migration.stored import split_name

# Variables of optimizers, by the last parts of their names.
OPTIMIZER = {"learning_rate", "decay", "momentum", "rho", "beta_1", "beta_2"}
# What holds variables of optimizers, in one of their formats.
HOLDERS = {".OPTIMIZER_SLOT", "_variables", "keras_api", "Adam", "RMSprop"}


def read_variables(source: Mapping | str | Path) -> list[Stored]:
    """Read the weights that a source has.

    The variables of an optimizer are left out, and so are integers, such as
    counters.

    Args:
        source: Names and arrays; or the path of a checkpoint, of an HDF5 file
            or of a SavedModel's folder.

    Returns:
        The variables, in the order of the source.

    Raises:
        ValueError: If there is no such file, or it is none of these.
    """
    if isinstance(source, Mapping):
        found = [Stored((str(k),), np.asarray(x)) for k, x in source.items()]
    elif isinstance(source, str | Path):
        found = _read_path(Path(source))
    else:
        raise ValueError(
            "`source` must be the path of a checkpoint, of an HDF5 file or of "
            "a SavedModel, or a dictionary of names and arrays. Received: "
            f"source={described(source)}. Of a list of variables make "
            "{v.name: v.numpy() for v in variables}."
        )
    return [x for x in found if _is_weight(x) and not _is_of_optimizer(x)]


def _is_weight(variable: Stored) -> bool:
    dtype = variable.value.dtype
    return np.issubdtype(dtype, np.floating) or dtype.name == "bfloat16"


def _read_path(path: Path) -> list[Stored]:
    if path.is_file() and h5py.is_hdf5(path):
        return read_hdf5(path)
    checkpoint = find_checkpoint(path)
    if checkpoint is None:
        what = "where there is none"
        if path.is_file():
            what = "a file that cannot be read as one of these"
        raise ValueError(
            "`source` must name a checkpoint, an HDF5 file or the folder of a "
            f"SavedModel. Received: source={str(path)!r}, {what}. A "
            "checkpoint is named without its suffix: `ckpt-1`, not "
            "`ckpt-1.index`."
        )
    return read_checkpoint(checkpoint)


def _is_of_optimizer(variable: Stored) -> bool:
    parts = split_name(variable.names[0])
    return (
        bool(HOLDERS.intersection(parts))
        or parts[:2] == ("optimizer", "vars")
        or parts[-1].lstrip("_") in OPTIMIZER
    )


def select(variables: list[Stored], prefix: str) -> list[Stored]:
    """Select the variables whose names have a prefix.

    Args:
        variables: All variables.
        prefix: Whole parts that their names begin with; if no name does, any
            beginning, or whole parts anywhere. All variables if it is empty.

    Returns:
        The selected ones.

    Raises:
        ValueError: If there is none.
    """
    wanted = split_name(prefix)
    if wanted == ("",):
        return variables
    size = len(wanted)
    for fits in (
        lambda name: split_name(name)[:size] == wanted,
        lambda name: name.startswith(prefix),
        lambda name: has_run(split_name(name), wanted),
    ):
        chosen = [x for x in variables if any(map(fits, x.names))]
        if chosen:
            return chosen
    some = "\n".join(f"  {x.names[0]}" for x in variables[:8])
    raise ValueError(
        "`prefix` must be in the names of some variables. Received: "
        f"prefix={prefix!r}, and these names, among others:\n{some}"
    )
