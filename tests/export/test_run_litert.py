"""run_litert: the program that runs a file, alone in its process."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    import tensorflow_text

    from keras_attention.export import run_litert

OPERATIONS = "tensorflow_text:tflite_registrar.SELECT_TFTEXT_OPS"
TEXTS = [[b"a b"], [b"", b"c\0 \xff\n"]]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Write a file that gives texts back, and needs an operation of text."""
    tokenizer = tensorflow_text.WhitespaceTokenizer()

    @tf.function(
        input_signature=[tf.TensorSpec((None,), tf.string, "text")],
        autograph=False,
    )
    def count(text):
        words = tokenizer.tokenize(text)
        return {"words": words.row_lengths(), "same": tf.identity(text)}

    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [count.get_concrete_function()], tf.Module()
    )
    converter.allow_custom_ops = True
    path = tmp_path_factory.mktemp("text") / "count.tflite"
    path.write_bytes(converter.convert())
    return path


def loaded_by(*arguments):
    """Name the packages that a process has loaded when the program ends."""
    code = (
        "import json, runpy, sys; sys.argv = json.loads(sys.argv[1]);"
        "runpy.run_path(sys.argv[0], run_name='__main__');"
        "print([*sys.modules], file=sys.stderr)"
    )
    given = json.dumps([run_litert.__file__, *map(str, arguments)])
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, given],
        input="[]",
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
    modules = done.stderr.splitlines()[-1]
    names = ("tensorflow", "keras", "keras_attention")
    return {name for name in names if f"'{name}'" in modules}


@pytest.fixture(scope="module")
def plain_file(tmp_path_factory):
    """Write a file without operations of text."""

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.int32, "x")])
    def double(x):
        return {"y": 2 * x}

    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [double.get_concrete_function()], tf.Module()
    )
    path = tmp_path_factory.mktemp("plain") / "double.tflite"
    path.write_bytes(converter.convert())
    return path


def test_it_loads_neither_tensorflow_nor_this_package(plain_file):
    assert loaded_by(plain_file, "serving_default") == set()


@pytest.mark.thorough
def test_it_loads_tensorflow_if_operations_of_text_are_asked_for(file):
    loaded = loaded_by(file, "serving_default", OPERATIONS)
    assert loaded & {"tensorflow", "keras_attention"} == {"tensorflow"}


def test_it_runs_batches_of_any_size(plain_file):
    batches = [{"x": np.arange(n, dtype="int32")} for n in (1, 3)]
    found = run_litert.run(str(plain_file), "serving_default", batches)
    assert [x["y"].tolist() for x in found] == [[0], [0, 2, 4]]


@pytest.mark.slow
def test_a_run_goes_on_from_the_one_before(tmp_path):
    """What a batch lacks is what the run before gave under its name."""
    spec = tf.TensorSpec((None,), tf.int32)

    def first(x):
        return {"sum": x}

    def more(x, sum):
        return {"sum": sum + x, "last": x}

    module = tf.Module()
    module.first = tf.function(first, [spec])
    module.more = tf.function(more, [spec, spec])
    signatures = {"first": module.first, "more": module.more}
    tf.saved_model.save(module, tmp_path / "sums", signatures)
    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(tmp_path / "sums"), signature_keys=["first", "more"]
    )
    path = tmp_path / "sums.tflite"
    path.write_bytes(converter.convert())
    batches = [{"x": np.full(2, n, "int32")} for n in (1, 2, 4)]
    found = run_litert.run(str(path), "first more more", batches)
    assert [x["sum"].tolist() for x in found] == [[1, 1], [3, 3], [7, 7]]


@pytest.mark.slow
def test_it_knows_the_operations_of_text(file):
    batches = [{"text": np.array(texts, object)} for texts in TEXTS]
    run = run_litert.run
    found = run(str(file), "serving_default", batches, OPERATIONS)
    assert [x["words"].tolist() for x in found] == [[2], [0, 2]]
    found = [run_litert.from_json(run_litert.to_json(x)) for x in found]
    assert [x["same"].tolist() for x in found] == TEXTS


def test_what_is_no_litert_file_is_an_error(tmp_path):
    path = tmp_path / "x.tflite"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match=r"not a valid|identifier|Could not"):
        run_litert.run(str(path), "translate_ids", [])


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, -2], [3, 4]], "int32"),
        np.array([2**62 + 1]),
        np.array([0.1, -np.inf, 1e-45], "float32"),
        np.array([0.1, np.inf]),
        np.array([[b"a\0", b""], [b"\xff\n", "\uac00".encode()]], object),
        np.zeros((2, 0, 3), "float32"),
        np.zeros((0, 4), object),
        np.array(True),
    ],
)
def test_arrays_survive_json(array):
    text = json.dumps(run_litert.to_json({"x": array}))
    found = run_litert.from_json(json.loads(text))["x"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tolist() == array.tolist()


def test_what_is_no_number_survives_too():
    array = np.array([np.nan], "float32")
    text = json.dumps(run_litert.to_json({"x": array}))
    assert np.isnan(run_litert.from_json(json.loads(text))["x"]).all()
