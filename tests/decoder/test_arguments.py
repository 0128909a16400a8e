"""check_arguments: each rule, with the words that help."""

import pytest

from keras_attention import DotAttention
from keras_attention.decoder.arguments import check_arguments
from keras_attention.decoder.arguments import check_source_is_known
from keras_attention.decoder.arguments import check_window
from keras_attention.decoder.attentions import Attentions

GOOD = {
    "attentions": Attentions(DotAttention()),
    "order": "luong",
    "input_feeding": True,
    "attention_layer_size": 8,
    "output": "attention",
}
NONE = Attentions(None)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"input_feeding": False},
        {"order": "bahdanau"},
        {"attentions": NONE, "attention_layer_size": None, "output": "cell"},
    ],
)
def test_what_goes_together(change):
    check_arguments(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"order": "other"}, "`order` must be one of"),
        ({"output": "state"}, "`output` must be one of"),
        ({"attention_layer_size": 0}, "a positive integer"),
        ({"order": "bahdanau", "input_feeding": False}, "order='luong'"),
        ({"attentions": NONE}, "has no context"),
        ({"attentions": NONE, "output": "cell"}, "has no context"),
    ],
)
def test_what_does_not(change, words):
    with pytest.raises(ValueError, match=words):
        check_arguments(**{**GOOD, **change})


def test_a_window_is_a_pair_of_numbers():
    assert check_window(None, None) is None
    assert check_window([0, 3], DotAttention()) == (0, 3)
    with pytest.raises(ValueError, match="must be a pair"):
        check_window(3, DotAttention())


def test_without_memory_nothing_tells_the_batch_size():
    check_source_is_known([0])
    with pytest.raises(ValueError, match="needs `cell_states`"):
        check_source_is_known([])
