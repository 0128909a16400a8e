"""The LiteRT file: what it finds, what is in it, and what is refused."""

import json
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import layers
from litert_operations import copies
from seq2seqs import built_model
from tiers import some
from tiny import tiny_translator

from keras_attention import AttentionDecoderCell
from keras_attention import GreedySearch
from keras_attention import StateBridge
from keras_attention.export import litert
from keras_attention.export import portable
from keras_attention.export.litert import export_litert
from keras_attention.files import seal

pytestmark = pytest.mark.usefixtures("without_graphs_of_its_own")

GREEDY = GreedySearch(max_length=8)


def export(path, search=GREEDY, quantize=None, model=None):
    whole = tiny_translator()
    tokenizers = whole.source_tokenizer, whole.target_tokenizer
    model = whole.model if model is None else model
    export_litert(path, model, *tokenizers, search, quantize)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("litert")
    return export(str(folder / "deep" / "float32.tflite"))


def runner(path):
    return Interpreter(str(path)).get_signature_runner("translate_ids")


def sources():
    """Give batches of 1 and 3, of 1 to 12 digits."""
    draw = np.random.default_rng(1).integers
    for length in (1, 2, 3, 4, 5, 12):
        longest = 10**length
        digits = [str(draw(longest // 10, longest)), "7", "90"]
        digits = digits[: 1 if length % 2 else 3]
        yield tiny_translator().source_tokenizer.tokenize(digits)


def check_same(path, search, model=None):
    """Compare one interpreter with the model, at all sizes."""
    run = runner(path)
    model = tiny_translator().model if model is None else model
    for ids in sources():
        found, wanted = run(source_ids=ids), model.generate(ids, search)
        assert found["tokens"].dtype == np.int32
        np.testing.assert_array_equal(found["tokens"], wanted.tokens)
        np.testing.assert_allclose(found["scores"], wanted.scores, atol=1e-4)


@pytest.mark.slow
def test_one_interpreter_takes_all_sizes(file):
    check_same(file, GREEDY)


@pytest.mark.slow
def test_a_source_without_a_step_is_padding(file):
    run = runner(file)
    empty, padding = (np.zeros((2, n), "int32") for n in (0, 1))
    found, wanted = run(source_ids=empty), run(source_ids=padding)
    np.testing.assert_array_equal(found["tokens"], wanted["tokens"])


@pytest.mark.slow
@pytest.mark.parametrize("quantize", some(["int8", "float16"], 1))
def test_quantized_is_smaller_and_agrees(file, tmp_path, quantize):
    small = export(tmp_path / "small.tflite", quantize=quantize)
    assert small.stat().st_size < 0.9 * Path(file).stat().st_size
    few, all_ = runner(small), runner(file)
    kinds = {str(np.dtype(x["dtype"])) for x in tensors(small)}
    assert quantize in kinds
    assert copies(small.read_bytes()) == set()
    same = []
    for ids in sources():
        if ids.shape[1] < 7:  # it was trained on these
            x, y = few(source_ids=ids), all_(source_ids=ids)
            same.extend((x["tokens"] == y["tokens"]).all(axis=(1, 2)))
    assert np.mean(same) > 0.9


def tensors(path):
    """Give the details of all tensors of all of a file's graphs."""
    interpreter = Interpreter(str(path))
    for graph in range(interpreter.num_subgraphs()):
        yield from interpreter.get_tensor_details(graph)


@pytest.mark.slow
def test_it_is_an_archive_with_both_tokenizers(file):
    whole = tiny_translator()
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        assert archive.comment == Path(file).read_bytes()[-64:]
        for side in ("source", "target"):
            wanted = getattr(whole, f"{side}_tokenizer").to_json()
            given = json.loads(archive.read(f"{side}_tokenizer.json"))
            assert given == json.loads(wanted)
    content = Path(file).read_bytes()
    run = Interpreter(model_content=content).get_signature_runner()
    assert run(source_ids=np.array([[2, 4, 3]], "int32"))["tokens"].any()
    assert b"Flex" not in content
    assert copies(content) == set()


# Encoders and orders.


BOTH = {"return_sequences": True, "return_state": True}


def make(encoder, cell, bridge):
    keras.utils.set_random_seed(0)
    sizes = {"words": 14, "embedding_dim": 8}
    return built_model(cell, encoder=encoder, bridge=bridge, **sizes)


# What is refused, and what is left of it.


class Reversed(layers.LSTM):
    def call(self, sequences, initial_state=None, mask=None, training=False):
        flipped = keras.ops.flip(sequences, axis=1)
        return super().call(flipped, initial_state, mask, training)


@keras.saving.register_keras_serializable("test_litert")
class Scanner(layers.Layer):
    """An encoder of one's own, whose loop LiteRT cannot hold."""

    def __init__(self, **options):
        super().__init__(**options)
        self.supports_masking = True

    def call(self, x, mask=None):
        def step(carry, x):
            carry = carry + x
            return carry, carry

        first = keras.ops.zeros_like(x[:, 0])
        last, every = keras.ops.scan(step, first, keras.ops.swapaxes(x, 0, 1))
        return keras.ops.swapaxes(every, 0, 1), last


@pytest.mark.slow
def test_another_encoder_is_named(tmp_path):
    cell = AttentionDecoderCell(layers.SimpleRNNCell(8), None)
    model = make(
        Reversed(8, name="odd", **BOTH), cell, StateBridge("zeros", units=8)
    )
    with pytest.raises(ValueError, match="Reversed `odd`"):
        export(tmp_path / "x.tflite", model=model)
    model = make(Scanner(name="odd"), cell, None)
    with pytest.raises(ValueError, match=r"(?s)Scanner `odd`.*LiteRT reports"):
        export(tmp_path / "x.tflite", model=model)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_argmax_of_floats_is_named():
    """And what the error advises instead can be converted."""
    model = tiny_translator().model

    def convert(largest):
        spec = [tf.TensorSpec((None, 3), tf.float32, "x")]
        function = tf.function(
            lambda x: {"y": largest(x)}, spec, autograph=False
        )
        function.get_concrete_function()
        return litert.convert_to_litert(model, {"find": function}, None)

    with pytest.raises(ValueError, match=r"(?s)argmax` of floats.*top_k") as e:
        convert(lambda x: keras.ops.argmax(x, axis=-1))
    assert "Use RecurrentEncoder" not in str(e.value)[:600]
    assert convert(
        lambda x: keras.ops.cast(keras.ops.top_k(x, 1)[1][..., 0], "int32")
    )


@pytest.mark.slow
def test_what_runs_wrong_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.tflite"
    path.write_text("old")

    def nothing(source_ids):
        rows = tf.shape(source_ids)[0]
        return {
            "tokens": tf.zeros((rows, 2, GREEDY.max_length), tf.int32),
            "scores": tf.zeros((rows, 2)),
        }

    spec = [tf.TensorSpec((None, None), tf.int32, "source_ids")]
    function = tf.function(nothing, spec, autograph=False)
    zeros = litert.convert_to_litert(None, {"translate_ids": function}, None)
    broken = [b"nothing", zeros]
    said = [
        "cannot be run.*ended with code 1",
        "other `(tokens|scores)`.*Nothing was",
    ]
    for content, message in zip(broken, said, strict=True):
        monkeypatch.setattr(
            litert, "convert_to_litert", lambda *_, x=content: x
        )
        with pytest.raises(RuntimeError, match=f"(?s){message}"):
            export(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_crash_is_told(tmp_path, monkeypatch):
    (tmp_path / "run_litert.py").write_text("import os; os.abort()")
    monkeypatch.setattr(portable, "__file__", str(tmp_path / "portable.py"))
    file = tmp_path / "x.tflite"
    file.write_text("anything")
    seal(file)
    with pytest.raises(RuntimeError, match="ended with code -6"):
        litert.run_litert(file, "translate_ids", [])
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"x\.tflite, which cannot"):
        litert.run_litert(file, "translate_ids", [])


def test_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match="`quantize` must be one of"):
        export(tmp_path / "x.tflite", quantize="int4")
    with pytest.raises(ValueError, match=r"extension `\.tflite`"):
        export(tmp_path / "x.onnx")
