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


def listed(x):
    """List bytes as strings, without empty ones at their end."""
    if isinstance(x, bytes):
        return x.decode()
    return [y for y in map(listed, x) if y or isinstance(y, list)]


def check_alignment(answer, wanted):
    assert listed(answer["source_tokens"]) == wanted.source_tokens
    for number, weights in enumerate(answer["attention"]):
        columns = len(wanted.source_tokens[number])
        tokens, matrices = (
            x[number]
            if isinstance(x[number], list) and weights.shape[0] > 1
            else [x[number]]
            for x in (wanted.target_tokens, wanted.attention)
        )
        assert listed(answer["target_tokens"][number]) == tokens
        for one, other in zip(weights, matrices, strict=True):
            one = one[: len(other), :columns]
            np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Translator truncates")  # as does the export
@pytest.mark.parametrize("model", some(["nfkc, beams", "identity"], 1))
def test_it_gives_what_the_translator_gives(served, model):
    translator = translator_of(model)
    answers = served(model)["answers"]
    for (name, batch), answer in zip(REQUESTS, answers, strict=True):
        more = name == "align"
        wanted = translator(batch, True, more, batch_size=8)
        rows = answer["translations"].tolist()
        found = [[x.decode() for x in row] for row in rows]
        assert [x if x[1:] else x[0] for x in found] == wanted.texts
        scores = np.reshape(wanted.scores, answer["scores"].shape)
        np.testing.assert_allclose(answer["scores"], scores, atol=1e-4)
        if more:
            check_alignment(answer, wanted)


@pytest.mark.parametrize("model", some(["nfkc, beams", "identity"], 1))
def test_no_operation_is_of_a_gpu(served, model):
    """Nor of other packages: `tensorflow_text` was not loaded for it."""
    (used,) = served(model)["used"].values()
    assert {"MatMul", "HashTableV2"} <= used
    assert not [name for name in used if "cudnn" in name.lower()]
