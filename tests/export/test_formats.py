"""Formats: known by their names, each with what it takes."""

import json
from pathlib import Path

import pytest
from seq2seqs import built_model
from tiny import tiny_translator

from keras_attention import CharacterTokenizer
from keras_attention import Ensemble
from keras_attention import Shortlist
from keras_attention import Translator
from keras_attention.export import ExportFormat
from keras_attention.export import register_format
from keras_attention.export.formats import FORMATS
from keras_attention.export.formats import find_format
from keras_attention.files import replaced_file


def write_sizes(
    path, model, source_tokenizer, target_tokenizer, search, **more
):
    """Write how large the vocabularies are, and what else was given."""
    content = {
        "source": source_tokenizer.vocabulary_size,
        "target": target_tokenizer.vocabulary_size,
        "embedding": model.embedding_dim,
        "max_length": search.max_length,
        **more,
    }
    with replaced_file(path, ".json") as draft:
        draft.write_text(json.dumps(content))


@pytest.fixture
def registered():
    """Register formats for one test, and remove them after it."""
    before = {*FORMATS}
    yield register_format
    for name in {*FORMATS} - before:
        del FORMATS[name]


def test_a_new_format_is_registered_and_exported(registered, tmp_path):
    registered(ExportFormat("sizes", write_sizes))
    tiny = tiny_translator()
    tiny.export(tmp_path / "a.json", "sizes", max_length=5)
    sizes = {"source": 14, "target": 14, "embedding": 16, "max_length": 5}
    assert json.loads((tmp_path / "a.json").read_text()) == sizes
    with pytest.raises(
        ValueError, match=r"(?s)a format that supports it.*'sizes'"
    ):
        tiny.export(tmp_path / "b.json", "sizes", quantize="int8")
    assert not (tmp_path / "b.json").exists()


def test_a_format_gets_a_model_that_writes_listed_words(registered):
    models = []
    registered(
        ExportFormat("own", lambda _, model, *_more: models.append(model))
    )
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    shortlist = Shortlist([[0]] * tiny.model.source_vocabulary_size, [4])
    Translator(*parts, shortlist=shortlist).export("x", "own")
    tiny.export("x", "own")
    assert models == [tiny.model.limited_to(shortlist), tiny.model]


def test_a_format_gets_the_options_that_it_takes(registered, tmp_path):
    options = ("max_source_length", "replace_unknown")
    registered(ExportFormat("one", write_sizes, options[:1]))
    registered(ExportFormat("all", write_sizes, options, takes_quantize=True))
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    whole = Translator(*parts, max_source_length=7, replace_unknown=True)
    found = {}
    for name, quantize in (("one", None), ("all", "int8")):
        path = tmp_path / f"{name}.json"
        whole.export(path, name, quantize=quantize)
        content = json.loads(path.read_text())
        found[name] = dict(list(content.items())[4:])
    assert found["one"] == {"max_source_length": 7}
    assert found["all"] == {
        "max_source_length": 7,
        "replace_unknown": True,
        "quantize": "int8",
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("x.tflite", "litert"),
        ("x.TFLite", "litert"),
        (Path("a.onnx/x.onnx"), "onnx"),
        ("x", "tf_saved_model"),
        ("de_en.v1.2", "tf_saved_model"),
        ("x.onnx/1", "tf_saved_model"),
    ],
)
def test_a_path_says_its_format(path, name):
    assert find_format(path, None).name == name
    assert find_format(path, name).name == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("x.tflite", "tf_saved_model"),
        ("x.onnx", "litert_text"),
        ("x.onnx", "sizes"),
    ],
)
def test_a_path_of_another_format_is_refused(registered, tmp_path, path, name):
    registered(ExportFormat("sizes", write_sizes))
    with pytest.raises(ValueError, match=rf"path='.*{path}', format='{name}'"):
        tiny_translator().export(tmp_path / path, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["x.zip", "x.KERAS", "a/x.h5"])
def test_a_folder_is_not_named_as_a_file(path):
    with pytest.raises(ValueError, match=f"path='{path}'"):
        find_format(path, None)
    assert find_format(path, "tf_saved_model").name == "tf_saved_model"


def test_quantize_of_a_format_without_it_is_refused(tmp_path):
    message = (
        r"`quantize` needs a format that supports it.*"
        r"one of \('litert', 'litert_text', 'onnx', 'onnx_text', "
        r"'onnx_align'\)\. Received: "
        "format='tf_saved_model', quantize='int8'"
    )
    with pytest.raises(ValueError, match=message):
        tiny_translator().export(tmp_path / "x", quantize="int8")
    assert not list(tmp_path.iterdir())


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match=r"name='onnx'\. Taken are"):
        register_format(ExportFormat("onnx", write_sizes))
    assert FORMATS["onnx"].write is not write_sizes


def test_an_option_that_no_translator_has_is_refused():
    with pytest.raises(ValueError, match="options='batch_size'"):
        register_format(ExportFormat("new", write_sizes, ("batch_size",)))
    assert "new" not in FORMATS


@pytest.mark.parametrize("join", [lambda x: x, lambda x: Ensemble([x])])
def test_functions_that_no_file_brings_back_are_named(join, tmp_path):
    options = {"attention_layer_size": 4, "attention_activation": lambda x: x}
    tokenizers = 2 * [CharacterTokenizer("abcde")]
    translator = Translator(join(built_model(**options)), *tokenizers)
    for path in ("served", "x.tflite", "x.onnx"):
        with pytest.raises(ValueError, match="`attention_activation` must be"):
            translator.export(tmp_path / path)
    assert not [*tmp_path.iterdir()]
