"""Exported streams, in processes that know neither Keras nor this package."""

import json
import subprocess
import sys

import numpy as np
import pytest
import samples
import tensorflow as tf
from helpers import ear
from helpers import listener
from streams import LONGEST
from streams import draw_ids
from streams import joined
from streams import make_model
from streams import streamed
from tiers import some

from keras_attention.export import export_stream
from keras_attention.export import stream as module

SOURCE = draw_ids([9, 12, 4])
NAME = "layer norm, unfed, both kinds"
SUFFIXES = {"litert": ".tflite", "tf_saved_model": ""}
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


@pytest.mark.slow
@pytest.mark.parametrize("format", some(["litert", "tf_saved_model"], 1))
@pytest.mark.parametrize("features", [False, True])
@pytest.mark.usefixtures("without_graphs")
def test_a_server_keeps_nothing(tmp_path, features, format):
    """With cells of Keras and ids, and with an encoder of one's own."""
    model, source = make_model(NAME), SOURCE
    if features:
        model = listener.make_model(8, listener.chunkwise())
        samples.randomize(model, scale=1.0)  # as large as after training
        model.harden()
        source = samples.draw(3, 12, ear.FRAMES, dtype="float32")
    path = (tmp_path / "stream").with_suffix(SUFFIXES[format])
    export_stream(path, model, LONGEST, format)
    found = serve(path, format, [source, source[::-1][:2]])
    assert any(joined(found[0][:-1])) == features  # before the end
    words = joined(streamed(model, source, [source.shape[1]]))
    assert joined(found[0]) == words
    assert joined(found[1]) == words[::-1][:2]


def test_state_goes_out_and_in_by_names():
    model = make_model()
    functions = module.stream_functions(model, LONGEST, 2, 3)
    start, push, end = functions.values()
    state = start(tf.constant(2))
    names = list(state)
    assert names[:4] == ["encoder_0", "encoder_1", "decoder_0", "decoder_1"]
    steps, source = [], np.concatenate(3 * [SOURCE[:2, :6]], axis=1)
    for part in np.split(source, 3, axis=1):
        state = push(tf.constant(part), *state.values())
        steps.append(module._words(state))
        state = {name: state[name] for name in names}
        assert all(x.shape[0] == 2 for x in state.values())
    assert state["count"].numpy().tolist() == [18, 18]
    assert state["keys_0"].shape[1] <= 6  # what may be needed alone
    steps.append(module._words(end(*state.values())))
    assert joined(steps) == joined(streamed(model, source, [18]))
    assert [x.name for x in end.input_signature] == names
    assert len({f.get_concrete_function() for f in (start, push, end)}) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_what_writes_other_words_leaves_the_old_folder(tmp_path, monkeypatch):
    model = make_model()

    def other(answer):
        return [[0] for _ in answer["lengths"]]

    monkeypatch.setattr(module, "_words", other)
    with pytest.raises(RuntimeError, match="other `words` than the model"):
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
        "`model` must be an instance of Seq2Seq": {"model": 7},
    }
    for said, wrong in cases.items():
        with pytest.raises(ValueError, match=said):
            export_stream(**{"path": path, "model": model, **wrong})
    with pytest.raises(ValueError, match=r"extension `\.tflite`"):
        export_stream(path, model, format="litert")
    model.decoder.cell.attention.aligner.mode = "parallel"
    with pytest.raises(ValueError, match=r"model\.harden"):
        export_stream(path, model)
    assert not path.exists()
