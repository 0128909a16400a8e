"""What is exported runs without Keras and this package, as Serving runs it."""

import functools

import numpy as np
import pytest
import tensorflow_text  # noqa: F401  its operation is in the graph
from served import ask
from tiers import some
from tiny import tiny_translator

from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import Translator
from keras_attention.translation import read_answers

pytestmark = pytest.mark.slow

SIGNATURES = ["serving_default", "align"]
BATCHES = [
    [],
    [b""],
    [b"42"],
    [b"1234", b"", b"7", b"905"],
    ["３月１２日".encode(), b"12 May 2021"],
    [b"\xff12\x80", b"\xed\xa0\x807", b"31\xe2\x82", b"5"],
    [b"4\x002", b"\x00", b"42"],
    [b"2024-02-29 " * 60, b"42"],
]
REQUESTS = [(name, batch) for name in SIGNATURES for batch in BATCHES]


def translator_of(model):
    """The tiny translator, or one that normalizes and gives three texts."""
    tiny = tiny_translator()
    if model == "identity":
        return tiny
    source = CharacterTokenizer(tiny.source_tokenizer.vocabulary, "nfkc")
    search = BeamSearch(4, n_best=3, max_length=8)
    return Translator(tiny.model, source, tiny.target_tokenizer, search)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a model is, moved away from where it was written."""

    @functools.cache
    def find(name):
        written = tmp_path_factory.mktemp("written") / "model"
        translator_of(name).export(written)
        moved = tmp_path_factory.mktemp("elsewhere") / "moved"
        return written.rename(moved)

    return find


@pytest.fixture(scope="module")
def served(folder):
    """What a model answers to all requests."""
    return functools.cache(
        lambda name: ask([(folder(name), *x) for x in REQUESTS], False)
    )


@pytest.mark.filterwarnings("ignore:Translator cuts")  # as does the export
@pytest.mark.parametrize("model", some(["nfkc, beams", "identity"], 1))
def test_it_gives_what_the_translator_gives(served, model):
    translator = translator_of(model)
    answers = served(model)["answers"]
    for (name, batch), answer in zip(REQUESTS, answers, strict=True):
        more = name == "align"
        found = [*read_answers(answer)]
        wanted = translator(batch, True, more, batch_size=8)
        assert [row.texts for row in found] == wanted.texts
        np.testing.assert_allclose(
            [row.scores for row in found], wanted.scores, atol=1e-4
        )
        if more:
            assert [row.source_tokens for row in found] == wanted.source_tokens
            assert [row.target_tokens for row in found] == wanted.target_tokens
            for row, weights in zip(found, wanted.attention, strict=True):
                for one, other in zip(row.attention, weights, strict=True):
                    np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("model", some(["nfkc, beams", "identity"], 1))
def test_no_operation_is_of_a_gpu(served, model):
    """Nor of other packages: `tensorflow_text` was not loaded for it."""
    (used,) = served(model)["used"].values()
    assert {"MatMul", "HashTableV2"} <= used
    assert not [name for name in used if "cudnn" in name.lower()]
