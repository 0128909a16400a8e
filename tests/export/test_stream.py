"""Exported streams, in processes that know neither Keras nor this package."""

import json
import subprocess
import sys

import keras
import pytest
import samples
from streams import LONGEST
from streams import draw_ids
from streams import joined
from streams import make_model
from streams import streamed
from tiers import some

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import ear
    import listener

    from keras_attention.export import export_stream
    from keras_attention.export import stream as module

SOURCE = draw_ids([9, 12, 4])
NAME = "layer norm, unfed, both kinds"
# Two streams in turn, of other sizes: only the tensors know which is which.
PROGRAM = """
import json, sys
import numpy as np
{load}
def words(answer):
    rows = zip(answer.pop("tokens"), answer.pop("lengths"))
    return [[int(x) for x in ids[:n]] for ids, n in rows]
def chunk(part):  # ids, or features with their mask
    if part.ndim == 2:
        return {{"chunk": part.astype("int32")}}
    real = np.ones(part.shape[:2], bool)
    return {{"chunk": part.astype("float32"), "mask_of_chunk": real}}
sources = [np.array(x) for x in json.load(sys.stdin)]
sizes = [[3, 1, 0, 8], [5, 7]]
states = [run("start", batch_size=np.int32(len(x))) for x in sources]
found, firsts = [[], []], [0, 0]
for turn in range(4):
    for i, x in enumerate(sources):
        if turn < len(sizes[i]):
            part = x[:, firsts[i] : firsts[i] + sizes[i][turn]]
            firsts[i] += sizes[i][turn]
            if part.shape[1]:
                states[i] = run("push", **chunk(part), **states[i])
                found[i].append(words(states[i]))
for i in range(2):
    found[i].append(words(run("end", **states[i])))
known = {{name for name, module in sys.modules.items() if module}}
assert not {{"keras", "keras_attention"}} & known
json.dump(found, sys.stdout)
"""
LOAD = {
    "tf_saved_model": """
sys.modules["keras"] = sys.modules["keras_attention"] = None
import tensorflow as tf
signatures = tf.saved_model.load(sys.argv[1]).signatures
def run(name, **given):
    given = {k: tf.constant(x) for k, x in given.items()}
    return {k: x.numpy() for k, x in signatures[name](**given).items()}
""",
    "litert": """
from ai_edge_litert.interpreter import Interpreter
interpreter = Interpreter(sys.argv[1])
assert "tensorflow" not in sys.modules
def run(name, **given):
    return interpreter.get_signature_runner(name)(**given)
""",
}


def serve(path, format, sources):
    """Run two streams in a process of its own."""
    program = PROGRAM.format(load=LOAD[format])
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(path)],
        input=json.dumps([x.tolist() for x in sources]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_words(found, model, source):
    """Compare two streams with what the model writes for all rows at once."""
    words = joined(streamed(model, source, [source.shape[1]]))
    assert joined(found[0]) == words
    assert joined(found[1]) == words[::-1][:2]


@pytest.mark.slow
@pytest.mark.parametrize("format", some(["litert", "tf_saved_model"], 1))
@pytest.mark.usefixtures("without_graphs")
def test_a_server_keeps_nothing(tmp_path, format):
    model = make_model(NAME)
    path = tmp_path / "stream.tflite"
    export_stream(path, model, LONGEST, format)
    found = serve(path, format, [SOURCE, SOURCE[::-1][:2]])
    check_words(found, model, SOURCE)


@pytest.mark.slow
@pytest.mark.parametrize("format", some(["litert", "tf_saved_model"], 1))
@pytest.mark.usefixtures("without_graphs")
def test_an_encoder_of_ones_own_reads_features(tmp_path, format):
    model = listener.make_model(8, listener.chunkwise())
    samples.randomize(model, scale=1.0)  # as large as after training
    model.harden()
    path = tmp_path / "stream.tflite"
    export_stream(path, model, LONGEST, format)
    source = samples.draw(3, 12, ear.FRAMES, dtype="float32")
    found = serve(path, format, [source, source[::-1][:2]])
    assert any(joined(found[0][:-1]))  # before the end
    check_words(found, model, source)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("format", "quantize"), [("tf_saved_model", None), ("litert", "float16")]
)
def test_features_come_with_a_mask(tmp_path, format, quantize):
    model = make_model("stack, luong, chunkwise", features=True)
    path = tmp_path / "stream.tflite"
    export_stream(path, model, LONGEST, format, quantize)  # runs it
    assert path.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_what_writes_other_words_leaves_the_old_folder(tmp_path, monkeypatch):
    model = make_model()
    monkeypatch.setattr(module, "_words", lambda _: "other")
    with pytest.raises(RuntimeError, match="other words than the model"):
        export_stream(tmp_path / "x", model, 3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_cannot_be_exported(tmp_path):
    model, path = make_model(), tmp_path / "x"
    cases = {
        "`format` must be one of": {"format": "onnx"},
        "`quantize` must be one of": {"quantize": "int4"},
        "`quantize` needs format='litert'": {"quantize": "int8"},
        "`max_length` must be": {"max_length": 0},
        "`model` must be an object of Seq2Seq": {"model": 7},
    }
    for said, wrong in cases.items():
        with pytest.raises(ValueError, match=said):
            export_stream(**{"path": path, "model": model, **wrong})
    with pytest.raises(ValueError, match=r"ends in `\.tflite`"):
        export_stream(path, model, format="litert")
    model.decoder.cell.attention.aligner.mode = "parallel"
    with pytest.raises(ValueError, match=r"model\.harden"):
        export_stream(path, model)
    assert not path.exists()
