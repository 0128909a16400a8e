"""Names for variables that have only numbers, as in `.weights.h5` files.

Keras numbers the variables of a layer in the order in which it made them.
Their count and their ranks say what they are.
"""

import itertools

from keras_attention.migration.stored import Stored
from keras_attention.migration.stored import base
from keras_attention.migration.stored import natural

# By the ranks of all variables of a layer, in their order.
FIELDS = {
    (2, 2): ("kernel", "recurrent_kernel"),
    (2, 2, 1): ("kernel", "recurrent_kernel", "bias"),
    (2, 2, 2): ("kernel", "recurrent_kernel", "bias"),
    (2, 1): ("kernel", "bias"),
    (2,): ("kernel",),
    (1, 1): ("gamma", "beta"),
    (1,): ("attention_v",),
    (1, 0): ("attention_v", "attention_score_bias"),
    (1, 0, 1): ("attention_v", "attention_g", "attention_b"),
    (1, 0, 0, 1): (
        "attention_v",
        "attention_score_bias",
        "attention_g",
        "attention_b",
    ),
    (0, 0): ("attention_g", "attention_score_bias"),
}
SCALARS = {
    "luong_attention": "attention_g",
    "luong_monotonic_attention": "attention_score_bias",
}


def name_positions(variables: list[Stored]) -> list[Stored]:
    """Name the variables whose names end in `vars/0`, `vars/1` and so on.

    Args:
        variables: Variables of a whole file.

    Returns:
        The same variables; those of a layer of an unknown kind keep their
        numbers.
    """
    ordered = sorted(variables, key=lambda x: natural(x.parts))
    found = []
    for parent, group in itertools.groupby(ordered, lambda x: x.parts[:-1]):
        group = list(group)
        fields = None
        if parent[-1:] == ("vars",):
            fields = _fields(parent[:-1], [x.value.ndim for x in group])
        for i, stored in enumerate(group):
            names = stored.names
            if fields is not None:
                names = (*names, "/".join((*parent[:-1], fields[i])))
            found.append(Stored(names, stored.value))
    return found


def _fields(layer, ranks):
    if ranks == [0]:  # of Luong's score; the name of its class says which
        kind = base(layer[-1]) if layer else ""
        return (SCALARS.get(kind, "attention_scalar"),)
    return FIELDS.get(tuple(ranks))
