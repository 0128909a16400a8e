"""check_translator: parts fit together, or an error says why.

What a model that copies needs besides is tested in `test_copying.py`.
"""

import keras
import pytest
from tiny import tiny_translator

from keras_attention import BeamSearch
from keras_attention.translation import check_translator


def check(**changed):
    """Check the tiny parts, some of them exchanged."""
    tiny = tiny_translator()
    names = ("model", "source_tokenizer", "target_tokenizer", "search")
    check_translator(**{name: getattr(tiny, name) for name in names} | changed)


def test_parts_that_fit_pass():
    check()
    check(search=BeamSearch(2))
    check(source_tokenizer=tiny_translator().target_tokenizer)


@pytest.mark.parametrize(
    ("search", "received"),
    [("beam", "'beam'"), (BeamSearch, "class BeamSearch")],
)
def test_what_is_no_search_is_refused(search, received):
    message = rf"`search` must .*{received}.*`BeamSearch\(5\)`"
    with pytest.raises(ValueError, match=message):
        check(search=search)


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("tokenizer", "received"),
    [("words", "'words'"), (None, "None"), (dict, "the class dict")],
)
def test_what_is_no_tokenizer_is_refused(side, tokenizer, received):
    message = rf"`{side}_tokenizer` must be .*{received}.*\.train\("
    with pytest.raises(ValueError, match=message):
        check(**{f"{side}_tokenizer": tokenizer})


def test_a_model_that_does_not_generate_is_refused():
    for model in (keras.layers.Dense(1), keras.Model(), "model.keras", None):
        with pytest.raises(ValueError, match=r"`model` must .*Seq2Seq"):
            check(model=model)
    with pytest.raises(ValueError, match="Received: model=the class Seq2Seq"):
        check(model=type(tiny_translator().model))
