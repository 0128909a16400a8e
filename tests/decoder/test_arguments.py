"""check_arguments: each rule, with the words that help."""

import pytest

from keras_attention import DotAttention
from keras_attention.decoder.arguments import check_arguments
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
