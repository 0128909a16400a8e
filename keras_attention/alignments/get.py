"""Alignments from names, objects and configs, as `alignment` takes them."""

import keras

from keras_attention.alignments.base import AbstractAlignment
from keras_attention.alignments.simplex import MAPPINGS
from keras_attention.alignments.simplex import SimplexAlignment
from keras_attention.checks import described


def get_alignment(
    identifier: str | dict | AbstractAlignment,
) -> AbstractAlignment:
    """Make a new alignment from a name, an object or a config.

    An object is copied: like an initializer, it may be passed to several
    layers, and each layer gets its own weights and state.

    Args:
        identifier: A name, `"softmax"`, `"sparsemax"` or `"entmax15"`; an
            `AbstractAlignment`; or the config of one, as Keras serializes it.

    Returns:
        A new `AbstractAlignment`.

    Raises:
        ValueError: If `identifier` is none of these.
    """
    if isinstance(identifier, dict):
        identifier = keras.saving.deserialize_keras_object(identifier)
    if isinstance(identifier, AbstractAlignment):
        return type(identifier).from_config(identifier.get_config())
    if isinstance(identifier, str) and identifier in MAPPINGS:
        return SimplexAlignment(identifier)
    raise ValueError(
        f"`alignment` must be one of {tuple(MAPPINGS)}, an object of an "
        "alignment, such as Monotonic(), or its config. Received: "
        f"alignment={described(identifier)}. Other alignments have no name: "
        "import the class from keras_attention and pass an object of it."
    )
