"""What files give on request: scores of tokens, and where each one looked."""

import numpy as np
import onnx
import pytest
import tensorflow as tf
from alone import run_alone
from tiny import tiny_translator

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import Translator
from keras_attention.export import onnx_text
from keras_attention.export.formats import OUTPUTS
from keras_attention.export.formats import check_outputs
from keras_attention.export.formats import with_tokens
from keras_attention.export.ids import chosen

pytestmark = pytest.mark.usefixtures("without_graphs_of_its_own")

SEARCH = BeamSearch(2, n_best=2, max_length=8, coverage_penalty=0.2)
TEXTS = ["120", "", "\U0001f600 9", "4" * 12]
TYPES = {
    "translations": "STRING",
    "scores": "FLOAT",
    "source_tokens": "STRING",
    "target_tokens": "STRING",
    "token_scores": "FLOAT",
    "attention": "FLOAT",
}


def export(path, tiny=None, search=SEARCH, format="onnx_align", **options):
    tiny = tiny or tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    translator = Translator(*parts, search)
    translator.export(path, format, **options)
    return translator


def outputs(path):
    content = onnx.load(path)
    onnx.checker.check_model(content, full_check=True)
    of_name = onnx.TensorProto.DataType.Name
    return {
        x.name: of_name(x.type.tensor_type.elem_type)
        for x in content.graph.output
    }


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx_align") / "x.onnx"
    return export(path), path


@pytest.mark.slow
def test_it_looks_where_the_translator_looks(exported):
    translator, path = exported
    assert outputs(path) == TYPES
    asked = {f"return_{x}": True for x in ("scores", "token_scores")}
    wanted = translator(TEXTS, return_attention_scores=True, **asked)
    answer, empty = run_alone(path, [TEXTS, []])
    found = dict(zip(TYPES, answer, strict=True))
    assert found["translations"].tolist() == wanted.texts
    np.testing.assert_allclose(
        found["scores"].astype(float), wanted.scores, atol=1e-4
    )
    for i, sources in enumerate(wanted.source_tokens):
        width = len(sources)
        assert found["source_tokens"][i, :width].tolist() == sources
        assert not any(found["source_tokens"][i, width:])
        for n, targets in enumerate(wanted.target_tokens[i]):
            count = len(targets)
            assert found["target_tokens"][i, n, :count].tolist() == targets
            assert not any(found["target_tokens"][i, n, count:])
            scores = found["token_scores"][i, n].astype(float)
            assert not scores[count:].any()
            np.testing.assert_allclose(
                scores[:count], wanted.token_scores[i][n], atol=1e-4
            )
            weights = found["attention"][i, n].astype(float)
            np.testing.assert_allclose(
                weights[:count, :width], wanted.attention[i][n], atol=1e-4
            )
            np.testing.assert_allclose(weights[:count].sum(-1), 1, atol=1e-4)
            assert not weights[count:].any()
    assert [len(x) for x in empty] == [0] * len(TYPES)


@pytest.mark.slow
def test_a_model_that_does_not_attend_has_no_attention(tmp_path):
    path = tmp_path / "x.onnx"
    search = GreedySearch(max_length=8)
    export(path, tiny_translator(attention=False), search, quantize="int8")
    assert list(outputs(path)) == [x for x in TYPES if x != "attention"]
    (found,) = run_alone(path, [TEXTS])
    assert found[-1].shape == (len(TEXTS), 1, 8)


@pytest.mark.slow
def test_other_outputs_are_told(exported, tmp_path, monkeypatch):
    content, run = onnx.load(exported[1]), onnx_text._run
    monkeypatch.setattr(onnx_text, "convert_to_onnx", lambda *_: None)
    monkeypatch.setattr(onnx_text, "_with_text", lambda *_: content)
    for name in ("source_tokens", "attention"):

        def change(*arguments, name=name):
            answers = run(*arguments)
            return [{**x, name: x[name][..., ::-1]} for x in answers]

        monkeypatch.setattr(onnx_text, "_run", change)
        with pytest.raises(RuntimeError, match=f"returns other `{name}`"):
            export(tmp_path / "x.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:RequiredPhrases found no hypothesis")
def test_a_saved_model_gives_what_is_asked_for(tmp_path):
    """As do other files: `commands/test_translate_file.py` reads them."""
    asked = "attention", "scores", "translations"
    translator = export(tmp_path / "x", format=None, outputs=asked)
    wanted = translator(TEXTS, True, True)
    serve = tf.saved_model.load(tmp_path / "x").signatures["serving_default"]
    found = serve(text=tf.constant(TEXTS))
    names = {*OUTPUTS, "attention", "source_tokens", "target_tokens"}
    assert found.keys() == names
    np.testing.assert_allclose(found["scores"], wanted.scores, atol=1e-4)
    weights = found["attention"].numpy()
    for i, both in enumerate(wanted.attention):
        for n, w in enumerate(both):
            rows, columns = w.shape
            np.testing.assert_allclose(
                weights[i, n, :rows, :columns], w, atol=1e-4
            )
            assert not weights[i, n, rows:].any()


@pytest.mark.slow
def test_scores_of_tokens_come_with_the_tokens_alone(tmp_path):
    asked = (*OUTPUTS, "token_scores")
    path = tmp_path / "x.onnx"
    export(path, format="onnx_text", outputs=asked)
    assert (*outputs(path),) == with_tokens(asked)
    assert with_tokens(asked) == (*OUTPUTS, "target_tokens", "token_scores")


def test_what_the_model_lacks_is_refused():
    found = {"scores": 1, "attention": None}
    with pytest.raises(ValueError, match="Received: 'attention', for a model"):
        chosen(found, ("scores", "attention"))
    assert chosen(found, None) == {"scores": 1}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("translations", "scores", "weights"), "outputs='weights'"),
        (("attention",), r"must contain all of .*outputs=\('attention',\)"),
        ("scores", "must contain all of"),
    ],
)
def test_other_names_are_refused(names, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        tiny_translator().export(tmp_path / "x.onnx", outputs=names)
    assert not list(tmp_path.iterdir())
    assert check_outputs(["attention", *OUTPUTS]) == (*OUTPUTS, "attention")


def test_a_format_without_them_is_named(tmp_path):
    asked = (*OUTPUTS, "attention")
    with pytest.raises(
        ValueError, match=r"one of .*'onnx_text'\)\. Rec.*_align"
    ):
        export(tmp_path / "x.onnx", outputs=asked)
