"""The variables of a TensorFlow checkpoint, and of a SavedModel."""

from pathlib import Path

from keras_attention.extras import require
from keras_attention.migration.stored import SUFFIX
from keras_attention.migration.stored import Stored

GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
WRAPPER = {"_cell", "_attention_mechanisms"}  # what an AttentionWrapper holds
READER = "load_tfa_weights of a checkpoint"


def find_checkpoint(path: Path) -> Path | None:
    """Find the checkpoint that a path means.

    Args:
        path: A checkpoint without its suffix, a folder of checkpoints, of
            which the last one is taken, or a folder of a SavedModel.

    Returns:
        The checkpoint's path without its suffix, or `None`.
    """
    inside = path / "variables" / "variables"
    for one in (path, inside):
        if one.with_name(f"{one.name}.index").is_file():
            return one
    if (path / "checkpoint").is_file():
        tensorflow = require("tensorflow", "all", READER)
        last = tensorflow.train.latest_checkpoint(str(path))
        return None if last is None else Path(last)
    return None


def read_checkpoint(path: Path) -> list[Stored]:
    """Read the variables of a checkpoint.

    A checkpoint names a variable by the shortest way to it through the
    attributes of objects. Where there is a way through an `AttentionWrapper`,
    it is a further name, which says what the variable belongs to. So is the
    name that the program gave to a variable that stands in a plain list.

    Args:
        path: The checkpoint, without its suffix.

    Returns:
        Its variables.

    Raises:
        ValueError: If it is damaged.
    """
    tensorflow = require("tensorflow", "all", READER)
    try:
        reader = tensorflow.train.load_checkpoint(str(path))
        keys = sorted(reader.get_variable_to_shape_map())
        ways = {}
        if GRAPH in keys:
            ways = _ways(reader.get_tensor(GRAPH))
        return [
            Stored((_plain(key), *ways.get(key, ())), reader.get_tensor(key))
            for key in keys
            if key != GRAPH
        ]
    except (tensorflow.errors.OpError, RuntimeError) as error:
        raise ValueError(
            "`source` must be a checkpoint that can be read. Received: "
            f"source={str(path)!r}, of which TensorFlow says: {error}"
        ) from error


def _plain(key):
    """Return a key as a name: TensorFlow writes a slash within one as `.S`."""
    return key.removesuffix(SUFFIX).replace(".S", "/")


def _ways(graph: bytes) -> dict:
    """Map variables whose first name says too little to a further one."""
    proto = require(
        "tensorflow.core.protobuf.trackable_object_graph_pb2", "all", READER
    )
    nodes = proto.TrackableObjectGraph.FromString(graph).nodes
    first = _shortest(nodes, 0)
    ways = {}
    for node, way in first.items():
        for attribute in nodes[node].attributes:
            if way[-1:] and way[-1].isdigit() and attribute.full_name:
                ways[attribute.checkpoint_key] = (attribute.full_name,)
    for wrapper, way in first.items():
        if WRAPPER <= {child.local_name for child in nodes[wrapper].children}:
            for node, inner in _shortest(nodes, wrapper).items():
                for attribute in nodes[node].attributes:
                    name = "/".join((*way, *inner))
                    ways.setdefault(attribute.checkpoint_key, (name,))
    return ways


def _shortest(nodes, start: int) -> dict:
    """Map each object that can be reached to the shortest way to it."""
    ways, queue = {start: ()}, [start]
    for node in queue:
        for child in nodes[node].children:
            if child.node_id not in ways:
                ways[child.node_id] = (*ways[node], child.local_name)
                queue.append(child.node_id)
    return ways
