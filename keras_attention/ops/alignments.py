"""How scores become weights, by name."""

from keras_attention.checks import check_choice
from keras_attention.ops.numerics import masked_softmax

ALIGNMENTS = {"softmax": masked_softmax}


def get_alignment(name: str):
    """Find an alignment: a function of `scores` and `mask`, to weights.

    Args:
        name: `"softmax"`.

    Raises:
        ValueError: If there is none of that name.
    """
    check_choice("alignment", name, ALIGNMENTS)
    return ALIGNMENTS[name]
