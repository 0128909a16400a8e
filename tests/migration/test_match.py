"""pair_units: the object of the source for every object of ours."""

import numpy as np
import pytest

from keras_attention.migration.groups import sort_variables
from keras_attention.migration.match import pair_units
from keras_attention.migration.slots import Slot
from keras_attention.migration.slots import Unit
from keras_attention.migration.stored import Stored


class Weight:
    path = "ours"

    def __init__(self, *shape):
        self.shape = shape


def unit(side=None, direction=None, **shapes):
    slots = {k: Slot(Weight(*x)) for k, x in shapes.items()}
    return Unit(slots, side, direction)


def groups(**shapes):
    variables = [Stored((k,), np.zeros(x)) for k, x in shapes.items()]
    return sort_variables(variables).units


def paired(units, found):
    pairs = pair_units(units, found)
    return ["/".join(x.owner) if x else None for _, x in pairs]


def test_shapes_come_first_then_sides_then_the_order():
    units = [
        unit("source", embeddings=(7, 2)),
        unit("target", embeddings=(5, 2)),
        unit("target", embeddings=(7, 2)),
        unit("target", embeddings=(7, 2)),
    ]
    found = groups(
        **{
            "decoder/embedding_1/embeddings": (7, 2),
            "embedding_2/embeddings": (7, 2),
            "embedding_3/embeddings": (7, 2),
            "a/embedding/embeddings": (5, 2),
        }
    )
    names = ["embedding_2", "a/embedding", "decoder/embedding_1", "embedding_3"]
    assert paired(units, found) == names


def test_directions_are_told_by_names():
    units = [unit("source", x, kernel=(2, 3)) for x in ("forward", "backward")]
    found = groups(
        **{
            "bi/backward_layer/kernel": (2, 3),
            "bi/forward_layer/kernel": (2, 3),
        }
    )
    names = ["bi/forward_layer", "bi/backward_layer"]
    assert paired(units, found) == names


@pytest.mark.parametrize("name", ["embeddings", "kernel", "my_table"])
def test_a_matrix_that_is_alone_may_have_any_name(name):
    ((one, group),) = pair_units(
        [unit(embeddings=(7, 2))], groups(**{f"a/{name}": (7, 2)})
    )
    assert list(group.fields) == list(one.slots) == ["embeddings"]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["en/embeddings", "de/embeddings"], [None, None]),
        (["rnn_2/embeddings", "rnn_1/embeddings"], ["rnn_1", "rnn_2"]),
        (["en/embeddings", "decoder/de/embeddings"], ["en", "decoder/de"]),
    ],
)
def test_only_counters_give_an_order(names, wanted):
    units = [unit(x, embeddings=(7, 2)) for x in ("source", "target")]
    found = paired(units, groups(**dict.fromkeys(names, (7, 2))))
    assert found[:2] == wanted


def test_what_is_most_alike_is_named_in_the_error():
    units = [unit(kernel=(2, 3), bias=(3,)), unit(kernel=(4, 4), bias=(4,))]
    found = groups(**{"a/kernel": (2, 3), "b/gamma": (3,)})
    pairs = pair_units(units, found)
    assert [x and x.owner for _, x in pairs] == [("a",), None, ("b",)]
    assert pairs[-1][0] is None


def test_the_other_side_is_not_taken():
    found = groups(**{"encoder/lstm/kernel": (2, 3)})
    assert paired([unit("target", kernel=(2, 3))], found)[0] is None
