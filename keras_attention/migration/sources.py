"""Read variables of TensorFlow and Keras 2 programs from any source."""

import glob
import re
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from keras_attention.checks import described
from keras_attention.extras import require
from keras_attention.files import reading
from keras_attention.migration.names import NUMBERED
from keras_attention.migration.names import SUFFIX
from keras_attention.migration.names import Stored
from keras_attention.migration.names import base
from keras_attention.migration.names import split_name

# Names of the variables of optimizers, in all of their formats.
OPTIMIZER = re.compile(
    r"(^|/)(\.OPTIMIZER_SLOT|_variables|keras_api|Adam|RMSprop)(/|$)"
    r"|^optimizer/vars/"
    r"|(^|/)_*(learning_rate|decay|momentum|rho|beta_1|beta_2)$"
)
GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
READER = "load_tfa_weights of a checkpoint"
WRAPPER = {"_cell", "_attention_mechanisms"}  # what an AttentionWrapper holds
WHOLE = "model_weights/"  # in the file of a model with its config


def read_variables(source: Mapping | str | Path) -> list[Stored]:
    """Read the weights of a source.

    Optimizer variables and integers, such as counters, are omitted.

    Args:
        source: Names and arrays; or the path of a checkpoint, of an HDF5 file
            or of a SavedModel folder.

    Returns:
        The variables, in the order of the source.

    Raises:
        ValueError: If the file does not exist or has another format.
    """
    if isinstance(source, Mapping):
        found = [Stored((str(k),), np.asarray(x)) for k, x in source.items()]
    elif isinstance(source, str | Path):
        found = _read_path(Path(source))
    else:
        raise ValueError(
            "`source` must be the path of a checkpoint, of an HDF5 file or of "
            "a SavedModel, or a dictionary of names and arrays. Received: "
            f"source={described(source)}. Convert a list of variables to "
            "{v.name: v.numpy() for v in variables}."
        )
    return [
        x
        for x in found
        if "float" in x.value.dtype.name
        and not OPTIMIZER.search("/".join(split_name(x.names[0])))
    ]


def _read_path(path: Path) -> list[Stored]:
    if path.is_file() and h5py.is_hdf5(path):
        return read_hdf5(path)
    for one in (path, path / "variables" / "variables"):
        if one.with_name(f"{one.name}.index").is_file():
            return _read_checkpoint(one)
    last = None
    if (path / "checkpoint").is_file():
        tensorflow = require("tensorflow", "all", READER)
        last = tensorflow.train.latest_checkpoint(str(path))
    if last is None:
        what = "which does not exist"
        if path.is_file():
            what = "which has another format"
        raise ValueError(
            "`source` must name a checkpoint, an HDF5 file or the folder of a "
            f"SavedModel. Received: source={str(path)!r}, {what}. A checkpoint "
            "has no suffix: `ckpt-1`, not `ckpt-1.index`."
        )
    if not _is_in(Path(last), path):
        raise ValueError(
            "`source` must be a folder that contains its last checkpoint. "
            f"Received: source={str(path)!r}, whose file `checkpoint` names "
            f"{last!r}. Pass the path of a checkpoint."
        )
    return _read_checkpoint(Path(last))


def _is_in(path: Path, folder: Path) -> bool:
    """Return whether a path is inside a folder after resolving links."""
    return path.resolve().is_relative_to(folder.resolve())


def _read_checkpoint(path: Path) -> list[Stored]:
    """Read the variables of a checkpoint.

    A checkpoint names a variable by the shortest path to it through object
    attributes. If there is a path through an `AttentionWrapper`, it becomes
    an additional name, which identifies what the variable belongs to. For a
    variable in a plain list, so does the name that the program gave to it.
    """
    data = path.parent.glob(f"{glob.escape(path.name)}.data-*")
    for file in (path.with_name(f"{path.name}.index"), *data):
        if not (file.is_file() and _is_in(file, path.parent)):
            raise ValueError(
                "`source` must be a checkpoint whose files are in one folder. "
                f"Received: source={str(path)!r}, where {file.name} is not a "
                "file, or a link to one elsewhere. Copy it to that folder."
            )
    train = require("tensorflow", "all", READER).train
    needed = "`source` must be a readable checkpoint."
    with reading(f"source={str(path)!r}", needed):
        reader = train.load_checkpoint(str(path))
        keys = sorted(reader.get_variable_to_shape_map())
        ways = _ways(reader.get_tensor(GRAPH)) if GRAPH in keys else {}
        return [  # TensorFlow writes a slash within a name as `.S`
            Stored(
                (
                    key.removesuffix(SUFFIX).replace(".S", "/"),
                    *ways.get(key, ()),
                ),
                reader.get_tensor(key),
            )
            for key in keys
            if key != GRAPH
        ]


def _ways(graph: bytes) -> dict:
    """Map variables with uninformative first names to an additional name."""
    proto = require(
        "tensorflow.core.protobuf.trackable_object_graph_pb2", "all", READER
    )
    nodes = proto.TrackableObjectGraph.FromString(graph).nodes
    listed, wrapped = {}, {}
    first = _shortest(nodes, 0)
    for node, way in first.items():
        for x in nodes[node].attributes:
            if way and way[-1].isdigit() and x.full_name:
                listed[x.checkpoint_key] = (x.full_name,)
        if WRAPPER <= {child.local_name for child in nodes[node].children}:
            for inner, rest in _shortest(nodes, node).items():
                for x in nodes[inner].attributes:
                    name = "/".join((*way, *rest))
                    wrapped.setdefault(x.checkpoint_key, (name,))
    return wrapped | listed


def _shortest(nodes, start: int) -> dict:
    """Map each reachable object to the shortest path to it."""
    ways, queue = {start: ()}, [start]
    for node in queue:
        for child in nodes[node].children:
            if child.node_id not in ways:
                ways[child.node_id] = (*ways[node], child.local_name)
                queue.append(child.node_id)
    return ways


def select(variables: list[Stored], prefix: str) -> list[Stored]:
    """Select the variables whose names have a prefix.

    Args:
        variables: All variables.
        prefix: Whole components at the beginning of names or, if no name
            begins with them, anywhere in names. If empty, all variables are
            selected.

    Returns:
        The selected variables.

    Raises:
        ValueError: If no variable matches.
    """
    wanted = _slashed(prefix)
    if wanted == "//":
        return variables
    for fits in (str.startswith, str.__contains__):
        chosen = [
            x
            for x in variables
            if any(fits(_slashed(name), wanted) for name in x.names)
        ]
        if chosen:
            return chosen
    some = "\n".join(f"  {x.names[0]}" for x in variables[:8])
    raise ValueError(
        "`prefix` must occur in the names of some variables. Received: "
        f"prefix={prefix!r}, and these names, among others:\n{some}"
    )


def _slashed(name):
    return f"/{'/'.join(split_name(name))}/"


def read_hdf5(path: Path) -> list[Stored]:
    """Read the variables of a `.h5` or a `.weights.h5` file.

    A `.h5` file contains a variable once for each layer that shares it, with
    the name of the layer; it is returned once. A `.weights.h5` file has
    numbers instead of variable names, so they are derived from the layer's
    name.

    Args:
        path: The file.

    Returns:
        Its variables.

    Raises:
        ValueError: If it is damaged, or refers to other files.
    """
    needed = "`source` must be a weights file of Keras 2."
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
    """Return the names of all variables, and check that the file contains them.

    Variables in other files are rejected, and so are variables that are
    together larger than the file, so that they cannot exhaust the memory.
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
        raise OSError(f"its variables have {total} bytes, the file has {size}")
    return names


def _name_number(name: str, names: list[str]) -> str:
    """Convert `LAYER/vars/0` to a name by the type of the layer.

    A number that is not in the dictionary is unchanged.
    """
    owner, _, number = name.rpartition("/vars/")
    count = sum(x.startswith(f"{owner}/vars/") for x in names)
    layer = f"{base(owner.rpartition('/')[2])}/{count}"
    for pattern, fields in NUMBERED.items():
        if re.fullmatch(rf"{pattern}(/\d+)?", layer):
            field = fields.split()[int(number) :][:1]
            return f"{owner}/{field[0]}" if field else name
    return name
