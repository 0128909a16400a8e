"""CurrentGraph: one graph, until a part or an option has changed."""

import keras
import pytest
from tiny import tiny_translator

from keras_attention import GreedySearch
from keras_attention.translation import CurrentGraph

pytestmark = pytest.mark.tensorflow


@pytest.fixture
def arguments():
    translator = tiny_translator()
    return {
        **translator._arguments(),
        "search": GreedySearch(max_length=8),
        "max_source_length": 9,
    }


def test_it_is_kept_while_nothing_changes(arguments):
    current = CurrentGraph()
    graph = current.find(arguments)
    assert current.find(dict(arguments)) is graph
    assert graph.search is arguments["search"]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.update(max_source_length=12),
        lambda x: x.update(replace_unknown=True),
        lambda x: x.update(search=GreedySearch(max_length=8)),
        lambda x: setattr(x["search"], "max_length", 7),
    ],
)
def test_it_is_a_new_one_after_a_change(arguments, change):
    current = CurrentGraph()
    graph = current.find(arguments)
    change(arguments)
    found = current.find(arguments)
    assert found is not graph
    assert current.find(arguments) is found


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"search": keras.layers.Dense(3)}, "`search` must be an object"),
        ({"max_source_length": 1}, "max_source_length=1"),
    ],
)
def test_what_does_not_fit_is_told_again_and_again(arguments, wrong, message):
    current = CurrentGraph()
    graph = current.find(arguments)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            current.find({**arguments, **wrong})
    assert current.find(arguments) is graph
