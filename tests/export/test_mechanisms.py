"""Every mechanism, alignment and order, in every format.

A model has a layer of each mechanism, whose contexts are joined: what does
not survive an export changes what the model says.
"""

import keras
import pytest
from mechanisms import MODELS
from mechanisms import make_attentions
from mechanisms import make_model
from mechanisms import order

from keras_attention import BeamSearch

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

if keras.backend.backend() == "tensorflow":
    from keras_attention import CharacterTokenizer
    from keras_attention import Translator

SEARCH = BeamSearch(3, n_best=2, max_length=5, forbidden_ids=[0])
CASES = [
    ("tf_saved_model", "", MODELS[5], slice(None)),  # of three every order
    ("litert", ".tflite", MODELS[6], slice(None)),
    # The time of tf2onnx grows with the square of the size.
    ("onnx", ".onnx", MODELS[7], slice(5)),
    ("onnx", ".onnx", MODELS[7], slice(5, 10)),
    ("onnx", ".onnx", MODELS[7], slice(10, None)),
]


@pytest.mark.parametrize(("format", "suffix", "n", "part"), CASES)
def test_what_is_written_gives_what_the_model_gives(
    tmp_path, format, suffix, n, part
):
    """The export reads it back and compares, and raises if it differs."""
    tokenizer = CharacterTokenizer("0123456789", "identity")
    attentions = make_attentions(n)[part]
    model = make_model(attentions, order(n), tokenizer.vocabulary_size)
    translator = Translator(model, tokenizer, tokenizer, SEARCH)
    path = (tmp_path / "model").with_suffix(suffix)
    translator.export(path, format=format)
    assert path.exists()
