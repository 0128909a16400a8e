"""check_translator: parts fit together, or an error says why.

What a model that copies needs besides is tested in `test_copying.py`.
"""

import keras
import pytest

from keras_attention import BeamSearch

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from tiny import tiny_translator

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


@pytest.mark.parametrize("search", ["beam", "BeamSearch", 5, {}])
def test_what_is_no_search_is_refused(search):
    with pytest.raises(ValueError, match=r"`search` must .*`BeamSearch\(5\)`"):
        check(search=search)


def test_a_class_is_no_search():
    with pytest.raises(ValueError, match=r"`search` must .*class BeamSearch"):
        check(search=BeamSearch)


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("tokenizer", "received"),
    [
        (str.split, "split"),
        ("words", "'words'"),
        (None, "None"),
    ],
)
def test_what_is_no_tokenizer_is_refused(side, tokenizer, received):
    message = rf"`{side}_tokenizer` must be .*{received}.*\.train\("
    with pytest.raises(ValueError, match=message):
        check(**{f"{side}_tokenizer": tokenizer})


def test_a_class_is_no_tokenizer():
    kind = type(tiny_translator().source_tokenizer)
    with pytest.raises(ValueError, match="the class CharacterTokenizer"):
        check(source_tokenizer=kind)


def test_a_model_that_does_not_generate_is_refused():
    for model in (keras.layers.Dense(1), keras.Model(), "model.keras", None):
        with pytest.raises(ValueError, match=r"`model` must .*generates"):
            check(model=model)
    with pytest.raises(ValueError, match="Received: model=the class Seq2Seq"):
        check(model=type(tiny_translator().model))


def test_a_vocabulary_that_is_larger_than_the_models_is_refused():
    large = tiny_translator().source_tokenizer
    bigger = type(large)([*large.get_config()["vocabulary"], *"abcdefghijk"])
    with pytest.raises(ValueError, match="`source_tokenizer` must give ids"):
        check(source_tokenizer=bigger)
