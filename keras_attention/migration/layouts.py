"""Layouts of a cell's weights that Keras' cells do not have."""

import re

from keras_attention.migration.groups import JOINED
from keras_attention.migration.groups import Group
from keras_attention.migration.stored import base

CUDNN = re.compile(r"opaque_kernel|cu_?dnn", re.I)
OF_TENSORFLOW_1 = (
    "Cells of TensorFlow 1 have one kernel for inputs and state together, and "
    "are not supported. Convert it to `kernel`, `recurrent_kernel` and `bias` "
    "of Keras, and pass these in a dictionary."
)
OF_CUDNN = (
    "Weights of cuDNN's own layers are laid out in another way, and are not "
    "supported. Keras 2 converts a .h5 file of CuDNNLSTM or CuDNNGRU that it "
    "loads into an LSTM or a GRU: save that one."
)


def explain_layout(group: Group, wanted: dict[str, tuple]) -> str | None:
    """Say which known layout the weights of a cell have.

    Args:
        group: Variables of an object of the source, which do not fit.
        wanted: The shapes that our object needs, by name; empty if there is
            no such object.

    Returns:
        What an error says of it, or `None` if nothing is known.
    """
    owner = "/".join(group.owner)
    if CUDNN.search("/".join((owner, *group.fields))):
        return OF_CUDNN
    if _is_joined(group, wanted):
        return OF_TENSORFLOW_1
    one, other = group.shapes.get("bias", ()), wanted.get("bias", ())
    if {len(one), len(other)} == {1, 2} and one[-1] == other[-1]:
        was = f"reset_after={len(one) == 2}"
        return (
            f"{owner or 'The source'} was a GRU with {was}. Make that of the "
            f"target with {was} too."
        )
    return None


def _is_joined(group: Group, wanted: dict[str, tuple]) -> bool:
    """Return whether a kernel has the rows of inputs and of state."""
    kernel = group.shapes.get("kernel", ())
    if not kernel or "recurrent_kernel" in group.fields:
        return False
    rows = [wanted.get(x, (0,))[0] for x in ("kernel", "recurrent_kernel")]
    if all(rows) and kernel[0] == sum(rows):
        return True
    name = base(group.owner[-1]) if group.owner else ""
    return bool(JOINED.fullmatch(name)) and kernel != wanted.get("kernel")
