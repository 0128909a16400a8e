"""The ONNX file: what it finds, what is in it, and what is refused."""

import json
from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime
import pytest
from tiny import tiny_translator

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention.export import onnx as export_module
from keras_attention.export.onnx import export_onnx
from keras_attention.export.onnx import free_invariants
from keras_attention.files import check_seal

pytestmark = pytest.mark.usefixtures("without_graphs_of_its_own")

SEARCH = BeamSearch(
    3, n_best=2, max_length=6, length_penalty=0.6, coverage_penalty=0.2
)
NAMES = ["tokens", "scores"]


def export(path, search=SEARCH):
    whole = tiny_translator()
    tokenizers = whole.source_tokenizer, whole.target_tokenizer
    export_onnx(path, whole.model, *tokenizers, search)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "deep" / "beam.onnx"
    export(path)
    return path


@pytest.mark.slow
def test_one_session_takes_all_sizes(file):
    session = onnxruntime.InferenceSession(file)
    assert [x.name for x in session.get_outputs()] == NAMES
    draw = np.random.default_rng(1).integers
    for length in (1, 2, 5, 12):
        digits = [str(draw(0, 10**length)), "7", "90"]
        digits = digits[: 1 if length % 2 else 3]
        ids = tiny_translator().source_tokenizer.tokenize(digits)
        tokens, scores = session.run(NAMES, {"source_ids": ids})
        wanted = tiny_translator().model.generate(ids, SEARCH)
        assert tokens.dtype == np.int32
        np.testing.assert_array_equal(tokens, wanted.tokens)
        np.testing.assert_allclose(scores, wanted.scores, atol=1e-4)


@pytest.mark.slow
def test_nothing_is_enough_for_an_answer(file):
    session = onnxruntime.InferenceSession(file)

    def run(*shape):
        return session.run(NAMES, {"source_ids": np.zeros(shape, "int32")})

    np.testing.assert_array_equal(run(2, 0)[0], run(2, 1)[0])
    for shape in [(0, 3), (0, 0)]:
        assert [x.shape for x in run(*shape)] == [(0, 2, 6), (0, 2)]


@pytest.mark.slow
def test_names_and_tokenizers(file):
    assert [*file.parent.iterdir()] == [file]
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    assert model.graph.name == "translate_ids"
    assert [x.name for x in model.graph.input] == ["source_ids"]
    assert {x.domain for x in model.opset_import} <= {"", "ai.onnx.ml"}
    props = {
        x.key: json.loads(x.value)
        for x in model.metadata_props
        if x.key != "sha256"
    }
    whole = tiny_translator()
    for side in ("source_tokenizer", "target_tokenizer"):
        assert props[side] == json.loads(getattr(whole, side).to_json())
    check_seal(file)


@pytest.mark.slow
def test_weights_are_constants_in_loops_too(file):
    """So that onnxruntime packs them; variables of a loop it cannot."""
    graph = onnx.load(file).graph
    known, factors = {x.name for x in graph.initializer}, []
    for loop in graph.node:
        for body in [x.g for x in loop.attribute if x.HasField("g")]:
            given = {x.name for x in body.output}
            assert not given & {x.name for x in body.input}
            products = [x for x in body.node if x.op_type == "MatMul"]
            factors += [x.input[1] for x in products]
    # Query, cell, attentional vector and words of the decoder. The encoder has
    # operators, not loops.
    assert len(known & set(factors)) == 4


def be_converted_to(content, monkeypatch):
    """Let a graph be what a model is converted to, which takes seconds."""
    require = export_module.require
    convert = SimpleNamespace(from_function=lambda *_, **__: (content, None))
    tool = SimpleNamespace(convert=convert)
    monkeypatch.setattr(
        export_module,
        "require",
        lambda name, *x: tool if name == "tf2onnx" else require(name, *x),
    )


@pytest.mark.slow
def test_int8_hardly_changes_what_is_found(file, tmp_path, monkeypatch):
    """And products are of integers, in loops too."""
    be_converted_to(onnx.load(file), monkeypatch)
    tiny, path = tiny_translator(), tmp_path / "x.onnx"
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    export_onnx(path, *parts, SEARCH, quantize="int8")
    digits = [str(n) for n in range(0, 10000, 13)]
    ids = tiny.source_tokenizer.tokenize(digits)
    found = [
        onnxruntime.InferenceSession(file).run(NAMES, {"source_ids": ids})[0]
        for file in (file, path)
    ]
    same = (found[0][:, 0] == found[1][:, 0]).all(axis=1)
    assert 0.98 < same.mean()
    loops = [x for x in onnx.load(path).graph.node if x.op_type == "Loop"]
    kinds = {node.op_type for x in loops for node in x.attribute[0].g.node}
    assert "MatMulInteger" in kinds
    with pytest.raises(ValueError, match=r"`quantize`.*'float16'"):
        export_onnx(path, *parts, SEARCH, quantize="float16")


@pytest.mark.slow
def test_what_runs_wrong_leaves_the_old_file(tmp_path, file, monkeypatch):
    beam = onnx.load(file)
    short = onnx.ModelProto()  # without a graph's inputs
    short.CopyFrom(beam)
    del short.graph.node[-1:]
    path = tmp_path / "x.onnx"
    path.write_text("old")
    for content, message in [(beam, "other `tokens`"), (short, "cannot be")]:
        be_converted_to(content, monkeypatch)
        with pytest.raises(RuntimeError, match=rf"(?s){message}.*Nothing was"):
            export(path, GreedySearch(max_length=8))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# Loops: what is read from outside of them.

# Carries a sum, what is added to it, two that change places, and one that is
# read afterwards.
LOOP = """
<ir_version: 10, opset_import: ["" : 18]>
numbers (float[2] x, int64 n) => (float[2] sum, float[2] one, float[2] last)
<float[2] w = {2, 3}, float[2] v = {5, 7}>
{
  sum, never, one, two, last = Loop (n, , x, w, x, v, v) <body = body (
      int64 i, bool more, float[2] s, float[2] a, float[2] p, float[2] q,
      float[2] e
  ) => (bool go, float[2] t, float[2] a, float[2] q, float[2] p, float[2] e) {
    go = Identity (more)
    t = If (more) <
      then_branch = yes () => (float[2] y) { y = Add (s, a) },
      else_branch = no () => (float[2] z) { z = Sub (a, q) }
    >
  }>
}
"""


@pytest.fixture
def loop_model():
    return onnx.parser.parse_model(LOOP)


def run_loop(loop_model, n):
    session = onnxruntime.InferenceSession(loop_model.SerializeToString())
    x = np.array([1, 10], "float32")
    return session.run(None, {"x": x, "n": np.array(n)})


def test_only_what_never_changes_and_is_not_read_later_is_freed(loop_model):
    free_invariants(loop_model.graph)
    onnx.checker.check_model(loop_model, full_check=True)
    (loop,) = loop_model.graph.node
    assert list(loop.input) == ["n", "", "x", "x", "v", "v"]
    assert list(loop.output) == ["sum", "one", "two", "last"]
    (body,) = [x.g for x in loop.attribute]
    assert [x.name for x in body.input] == ["i", "more", "s", "p", "q", "e"]
    assert [x.name for x in body.output] == ["go", "t", "q", "p", "e"]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_the_numbers_stay(loop_model, n):
    wanted = run_loop(loop_model, n)
    free_invariants(loop_model.graph)
    found = run_loop(loop_model, n)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(found[0], [1 + 2 * n, 10 + 3 * n])


@pytest.mark.slow
def test_axes_have_names(file):
    session = onnxruntime.InferenceSession(file)
    both = session.get_inputs(), session.get_outputs()
    assert {x.name: x.shape for side in both for x in side} == {
        "source_ids": ["batch", "source"],
        "tokens": ["batch", SEARCH.n_best, SEARCH.max_length],
        "scores": ["batch", SEARCH.n_best],
    }
