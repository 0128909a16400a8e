"""What a user may give as `alignment`: a name, a config or an object."""

import keras

from keras_attention.alignments.base import AbstractAlignment
from keras_attention.alignments.simplex import SimplexAlignment
from keras_attention.ops import get_alignment


def as_alignment(alignment) -> AbstractAlignment:
    """Make an alignment of what the user gave, always a new one.

    Of an object this is a copy: like an initializer it may be given to many
    layers, and each has weights and a state of its own.

    Args:
        alignment: A name, `"softmax"`, `"sparsemax"` or `"entmax15"`; an
            `AbstractAlignment`; or the config dict of one, as Keras
            serializes it.

    Raises:
        ValueError: If it is none of these.
    """
    if isinstance(alignment, dict):
        alignment = keras.saving.deserialize_keras_object(alignment)
    if isinstance(alignment, AbstractAlignment):
        return type(alignment).from_config(alignment.get_config())
    if not isinstance(alignment, str):
        raise ValueError(
            "`alignment` must be a name, such as 'softmax', an object of an "
            "AbstractAlignment, such as Monotonic(), or its config. Received: "
            f"alignment={alignment!r}"
        )
    get_alignment(alignment)  # names what there is
    return SimplexAlignment(alignment)
