"""How the scores of a query become weights, by name."""

from keras_attention.checks import check_choice
from keras_attention.ops.numerics import masked_softmax
from keras_attention.ops.sparse import entmax15
from keras_attention.ops.sparse import sparsemax

ALIGNMENTS = {
    "softmax": masked_softmax,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
}


def get_alignment(name: str):
    """Find a function of `scores` and `mask`, to weights that sum to 1.

    Args:
        name: `"softmax"`, `"sparsemax"` or `"entmax15"`.

    Raises:
        ValueError: If there is none of that name.
    """
    check_choice("alignment", name, ALIGNMENTS)
    return ALIGNMENTS[name]
