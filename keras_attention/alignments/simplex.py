"""Alignments with names, and how to specify an alignment."""

import keras

from keras_attention.alignments.base import DECIDED
from keras_attention.alignments.base import AbstractAlignment
from keras_attention.checks import check_choice
from keras_attention.checks import described
from keras_attention.checks import refuse_to_stream
from keras_attention.ops import entmax15
from keras_attention.ops import masked_softmax
from keras_attention.ops import sparsemax

MAPPINGS = {
    "softmax": masked_softmax,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
}


@keras.saving.register_keras_serializable(package="keras_attention")
class SimplexAlignment(AbstractAlignment):
    """Maps the scores of a query to weights that sum to 1.

    Formula:

        "softmax": p = exp(z) / sum exp(z)
        "sparsemax": p = max(z - t, 0)
        "entmax15": p = max(z / 2 - t, 0)^2

    The threshold `t` makes the sum 1. Softmax never gives exactly 0. Sparsemax
    gives 0 to all scores that are at least 1 below the largest score, and often
    to others; entmax15 is between the two. You can pass the name to a layer:
    `alignment="sparsemax"`.

    Args:
        mapping: `"softmax"`, `"sparsemax"` or `"entmax15"`. Defaults to
            `"softmax"`.
        **kwargs: Keras layer arguments, such as `name`.

    Raises:
        ValueError: If `mapping` is unknown.

    Reference:
        [Martins and Astudillo, 2016](https://arxiv.org/abs/1602.02068);
        [Peters et al., 2019](https://arxiv.org/abs/1905.05702).
    """

    def __init__(self, mapping: str = "softmax", **kwargs):
        super().__init__(**kwargs)
        check_choice("mapping", mapping, MAPPINGS)
        self.mapping = mapping

    def reading(self):
        reason = "attends to all positions of the source"
        refuse_to_stream(f"alignment={self.mapping!r}", reason, DECIDED)

    def align(self, scores, mask, state, noise, query, lengths) -> tuple:
        return MAPPINGS[self.mapping](scores, mask), state

    def align_source(self, scores, mask, state, noise, query, real) -> tuple:
        return self.align(scores, mask, state, noise, query, lengths=None)


def get_alignment(
    identifier: str | dict | AbstractAlignment,
) -> AbstractAlignment:
    """Create an alignment from a name, an object or a config.

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
        f"`alignment` must be one of {tuple(MAPPINGS)}, an alignment such as "
        "Monotonic(), or the config of one. Received: "
        f"alignment={described(identifier)}. Other alignments are in "
        "keras_attention."
    )
