"""The ONNX file from text to text: what it says, and what is refused."""

import re

import numpy as np
import onnx
import pytest
from alone import run_alone
from seq2seqs import sure_model
from source import ROOT
from word_by_word import table_model

from keras_attention import BeamSearch
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import SentencePieceTokenizer
from keras_attention import Translator
from keras_attention import WordPieceTokenizer
from keras_attention import WordTokenizer
from keras_attention.export import onnx_text
from keras_attention.files import check_seal
from keras_attention.text import steps

pytestmark = pytest.mark.usefixtures("without_graphs_of_its_own")

SEARCH = BeamSearch(2, n_best=2, max_length=8, length_penalty=0.6)
GREEDY = GreedySearch(max_length=8)
WORDS = [["two  dogs, in snow !", "", "the cafe\u0301 plays"], []]
BATCHES = [["12", "", "\U0001f600 99\0", "1" * 40], [], ["", ""], ["7\n"]]


class Shout(steps.AbstractStep):
    """A step that ONNX has no form of."""


class Other(CharacterTokenizer):
    @property
    def steps(self):
        return [Shout(), *super().steps]


@pytest.fixture(scope="module")
def translator():
    digits = CharacterTokenizer("0123456789", "identity")
    model = table_model(digits.vocabulary_size)
    return Translator(model, digits, digits, SEARCH, max_source_length=9)


@pytest.fixture(scope="module")
def file(translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx_text") / "model.onnx"
    translator.export(path, "onnx_text")
    return path


def check_same(translator, file, batches, extensions=False):
    found = run_alone(file, batches, extensions)
    for texts, (translations, scores) in zip(batches, found, strict=True):
        shape = len(texts), getattr(translator.search, "n_best", 1)
        assert translations.shape == scores.shape == shape
        if texts:
            wanted = translator(texts, return_scores=True)
            assert translations.ravel().tolist() == [*np.ravel(wanted.texts)]
            scores = scores.astype("float32").ravel()
            wanted = np.ravel(wanted.scores)
            np.testing.assert_allclose(scores, wanted, atol=1e-4)


def test_it_says_what_the_translator_says(translator, file):
    with pytest.warns(UserWarning, match="max_source_length"):
        check_same(translator, file, BATCHES)


def test_names_and_metadata(file):
    content = onnx.load(file)
    onnx.checker.check_model(content, full_check=True)
    assert [x.name for x in content.graph.input] == ["text"]
    names = [x.name for x in content.graph.output]
    assert names == ["translations", "scores"]
    assert "ai.onnx.contrib" not in {x.domain for x in content.opset_import}
    props = {x.key for x in content.metadata_props}
    assert props == {"source_tokenizer", "target_tokenizer", "sha256"}
    check_seal(file)


def test_triton_is_told_the_names(file):
    config = ROOT / "examples/serve/triton/dates/config.pbtxt"
    names = re.findall(r'(?m)^ +name: "(\w+)"', config.read_text())
    graph = onnx.load(file).graph
    assert names == [x.name for x in (*graph.input, *graph.output)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_others_need_the_extensions(kind, tmp_path):
    if kind == "words":
        words = "two dogs play in the snow , !".split()
        source = target = WordTokenizer([*words, " !"])
    else:
        source = WordPieceTokenizer(["two", "##s", "dog", "##!", "snow"])
        target = SentencePieceTokenizer.train(WORDS[0], 300)
    sizes = source.vocabulary_size, target.vocabulary_size
    model = table_model(*sizes)
    translator = Translator(model, source, target, GREEDY)
    path = tmp_path / "x.onnx"
    translator.export(path, "onnx_text")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    check_same(translator, path, WORDS, extensions=True)


def test_what_is_not_there_is_named(translator, tmp_path, monkeypatch):
    tokenizer = WordTokenizer(["a"])
    parts = sure_model(5, 5), tokenizer, tokenizer, SEARCH

    def require(name, extra, needed_by):
        raise ImportError(f"{name} [{extra}] {needed_by}")

    monkeypatch.setattr(onnx_text, "require", require)
    message = r"onnxruntime_extensions \[onnx_text\] export_onnx_text"
    with pytest.raises(ImportError, match=message):
        onnx_text.export_onnx_text(tmp_path / "x.onnx", *parts)


def test_a_step_without_a_form_is_named(tmp_path):
    letters, other = CharacterTokenizer("abc"), Other("abc")
    for pair in ((other, letters), (letters, other)):
        with pytest.raises(ValueError, match=r"Received: Shout\. Register"):
            onnx_text.export_onnx_text(
                tmp_path / "x.onnx", sure_model(7, 7), *pair, SEARCH
            )


def test_what_cannot_be_run_leaves_the_old_file(
    translator, file, tmp_path, monkeypatch
):
    path, content = tmp_path / "x.onnx", onnx.load(file)
    monkeypatch.setattr(onnx_text, "convert_to_onnx", lambda *_: None)
    monkeypatch.setattr(onnx_text, "_with_text", lambda *_: content)
    monkeypatch.setattr(onnx_text, "write_onnx", lambda file, *_: file.touch())
    path.write_text("old")
    with pytest.raises(RuntimeError, match="was created, but cannot be run"):
        translator.export(path, "onnx_text")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
