"""export_model: any Keras model as a file, run where no Keras is."""

import itertools
import sys

import keras
import keras_formulas
import numpy as np
import pytest
import tensorflow as tf
from alone import run_alone
from keras import layers
from keras_formulas import expected
from keras_formulas import sample_of
from tiers import some

import keras_attention as ka
from keras_attention.export.litert import run_litert

FILES = {"tf_saved_model": "m", "litert": "m.tflite", "onnx": "m.onnx"}
SHAPES = [(3, 7), (1, 12), (8, 5), (2, 2), (9, 20), (3, 7)]


def dense(units=2, **options):
    x = keras.Input((3,), name="x")
    return keras.Model(x, layers.Dense(units, name="y")(x), **options)


def sequence_model(*stack, features=5, **options):
    x = keras.Input((None, features), name="x", **options)
    y = x
    for layer in stack:
        y = layer(y)
    return keras.Model(x, y)


X = np.random.default_rng(0).normal(size=(3, 7, 5)).astype("float32")


def in_saved_model(path, batches):
    serve = tf.saved_model.load(path).signatures["serving_default"]
    return [{k: x.numpy() for k, x in serve(**b).items()} for b in batches]


def in_litert(path, batches):
    return run_litert(path, "serving_default", batches)


def in_onnx(path, batches):
    import onnx

    graph = onnx.load(path).graph
    order = [x.name for x in graph.input]
    found = run_alone(path, [tuple(b[x] for x in order) for b in batches])
    names = [x.name for x in graph.output]
    return [dict(zip(names, answer, strict=True)) for answer in found]


RUN = {"tf_saved_model": in_saved_model, "litert": in_litert, "onnx": in_onnx}
FEW = [
    ("classifier", "tf_saved_model"),
    ("classifier", "litert"),
    ("tagger", "onnx"),
    ("detector", "litert"),
    ("matcher", "onnx"),
]
MORE = [
    x for x in itertools.product(keras_formulas.MODELS, RUN) if x not in FEW
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "format"), some([*FEW, *MORE], len(FEW)))
def test_files_compute_the_formulas_for_all_sizes(kind, format, tmp_path):
    """In one session for all sizes, which grow and shrink."""
    keras.utils.set_random_seed(0)
    model, compute = keras_formulas.MODELS[kind]()
    path = tmp_path / FILES[format]
    ka.export_model(model, path, sample=sample_of(model))
    batches = [
        sample_of(model, *shape, seed=i) for i, shape in enumerate(SHAPES)
    ]
    for batch, answer in zip(batches, RUN[format](path, batches), strict=True):
        wanted = expected(compute, batch)
        assert answer.keys() == wanted.keys()
        for name, y in wanted.items():
            found = answer[name].astype("float64")
            np.testing.assert_allclose(found, y, atol=2e-6)


def test_axes_of_onnx_files_have_names(tmp_path):
    import onnxruntime

    x = keras.Input((None, 5), name="x")
    pairs = {"each": layers.Dense(2)(x), "every": keras.ops.reshape(x, (-1, 5))}
    path = tmp_path / "m.onnx"
    ka.export_model(keras.Model(x, pairs), path, sample=X)
    session = onnxruntime.InferenceSession(path)
    both = session.get_inputs(), session.get_outputs()
    assert {x.name: x.shape for side in both for x in side} == {
        "x": ["batch", "x_1", 5],
        "each": ["batch", "x_1", 2],
        "every": ["every_0", 5],
    }


def forecaster():
    past = keras.Input((12,), name="past")
    known = keras.ops.expand_dims(past, -1)
    memory, *states = ka.RecurrentEncoder(4, cell="gru")(known)
    cell = layers.GRUCell(8)
    cell = ka.AttentionDecoderCell(cell, ka.BahdanauAttention(4))
    run = ka.FreeRunningDecoder(ka.AttentionDecoder(cell), layers.Dense(1), 4)
    return keras.Model(
        past, run(known[:, -1], memory, ka.StateBridge()(states))
    )


def graph():
    nodes = keras.Input((None, 5), name="nodes")
    edges = keras.Input((None, None), dtype="bool", name="edges")
    return keras.Model([nodes, edges], ka.GraphAttention(4)(nodes, edges))


def keras_attention_layers():
    x = keras.Input((None, 5), name="x")
    y = layers.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True)
    y = layers.Attention()([layers.LayerNormalization()(y + x), x])
    y = ka.SelfAttention(ka.BahdanauAttention(4))(y)
    return keras.Model(x, layers.GlobalAveragePooling1D()(y))


def own_cells():
    cells = [layers.LSTMCell(4), ka.LayerNormLSTMCell(3)]
    return sequence_model(
        layers.Masking(0.0),
        layers.RNN(cells, return_sequences=True),
        layers.SimpleRNN(3, dropout=0.5, recurrent_dropout=0.5),
    )


def convolutions():
    return sequence_model(
        layers.Conv1D(6, 3, dilation_rate=2, activation="gelu"),
        layers.BatchNormalization(),
        layers.Normalization(mean=[0.5] * 6, variance=[2.0] * 6),
        layers.AveragePooling1D(2, padding="same"),
        layers.Conv1DTranspose(4, 2),
    )


def documents():
    """Words of sentences of documents, of any number."""
    ids = keras.Input((None, None), dtype="int32", name="ids")
    words = layers.Embedding(9, 4, mask_zero=True), layers.GRU(4)
    sentences = layers.TimeDistributed(keras.Sequential(words))(ids)
    return keras.Model(ids, layers.Bidirectional(layers.LSTM(3))(sentences))


IDS = np.array([[[3, 4, 0], [5, 0, 0]], [[1, 2, 3], [4, 5, 6]]], "int32")
OTHERS = {
    "forecaster": (forecaster, X[:, 0].repeat(3, 1)[:, :12]),
    "graph": (graph, [X, np.eye(7, dtype=bool)[None].repeat(3, 0)]),
    "attention": (keras_attention_layers, X),
    "own cells": (own_cells, X),
    "documents": (documents, IDS),
    "convolutions": (convolutions, X),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "format"),
    some(
        [
            *zip(OTHERS, ("litert", "onnx") * 3, strict=True),
            *zip(OTHERS, ("onnx", "litert") * 3, strict=True),
        ],
        6,
    ),
)
def test_other_layers_are_exported(name, format, tmp_path):
    """Each file is compared with the model when it is written."""
    make, sample = OTHERS[name]
    ka.export_model(make(), tmp_path / FILES[format], sample=sample)
    assert (tmp_path / FILES[format]).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "quantize", "most"),
    [
        ("litert", "float16", 0.6),
        ("litert", "int8", 0.4),
        ("onnx", "int8", 0.4),
    ],
)
def test_quantized_files_are_smaller(format, quantize, most, tmp_path):
    model = keras.Sequential(
        [keras.Input((64,)), layers.Dense(128), layers.Dense(64, name="y")]
    )
    sizes, x = [], np.random.default_rng(0).normal(size=(4, 64))
    for how in (None, quantize):
        path = tmp_path / FILES[format]
        ka.export_model(model, path, sample=x, quantize=how)
        sizes.append(path.stat().st_size)
    assert sizes[1] < most * sizes[0]
    x = x.astype("float32")
    (found,) = RUN[format](path, [{"inputs": x}])
    np.testing.assert_allclose(found["y"].astype(float), model(x), atol=0.2)


def test_what_is_written_replaces_what_an_export_wrote(tmp_path):
    path = tmp_path / "deep" / "m"
    for units in (2, 4):
        ka.export_model(dense(units), path, sample=np.ones((2, 3)))
        (found,) = in_saved_model(path, [{"x": tf.ones((5, 3))}])
        assert found["y"].shape == (5, units)
    assert [x.name for x in path.parent.iterdir()] == ["m"]


def test_saved_models_read_texts(tmp_path):
    text = keras.Input((None,), dtype="string", name="words")
    ids = layers.StringLookup(vocabulary=["a", "b"], name="ids")(text)
    sample = np.array([["a", "x"], ["b", "a"]])
    ka.export_model(keras.Model(text, ids), tmp_path / "m", sample=sample)
    given = {"words": tf.constant([["b", "b", "a"]])}
    (found,) = in_saved_model(tmp_path / "m", [given])
    assert found["ids"].tolist() == [[2, 2, 1]]


@keras.saving.register_keras_serializable("test_model")
class OtherInGraphs(layers.Layer):
    """Gives other numbers, or another type, where it is traced."""

    def __init__(self, in_graph, **options):
        super().__init__(**options)
        self.in_graph = in_graph

    def call(self, x):
        return x if tf.executing_eagerly() else self.in_graph(x)


@pytest.mark.parametrize(
    ("in_graph", "reason"),
    [
        (lambda x: x + 0.01, r"by up to 0\.01"),
        (lambda x: x[:1], "not float32"),
        (lambda x: x / 0.0 * 0.0, "NaN"),
    ],
)
def test_what_disagrees_is_not_written(in_graph, reason, tmp_path):
    ka.export_model(dense(), tmp_path / "m", sample=np.ones((2, 3)))
    before = (tmp_path / "m" / "saved_model.pb").read_bytes()
    model = sequence_model(OtherInGraphs(in_graph, name="odd"))
    message = f"SavedModel returns other `odd` than the model: .*{reason}"
    with pytest.raises(ValueError, match=message):
        ka.export_model(model, tmp_path / "m", sample=X)
    assert (tmp_path / "m" / "saved_model.pb").read_bytes() == before


@keras.saving.register_keras_serializable("test_model")
class KnowsLength(layers.Layer):
    def call(self, x):
        return x * keras.ops.arange(x.shape[1], dtype="float32")[:, None]

    def compute_output_shape(self, shape):
        return shape


def half(**options):
    return layers.Dense(2, dtype="mixed_float16", **options)


REFUSED = [
    (lambda: keras.Sequential([layers.Dense(2)]), "m", "is built.*call"),
    (lambda: layers.Dense(2), "m", "`model` must be an instance of Model"),
    (dense, "m.zip", "`path` must have the extension"),
    (
        lambda: sequence_model(KnowsLength()),
        "m",
        r"x\.shape\[1\].*Input\(shape",
    ),
    (lambda: sequence_model(half()), "m.onnx", "computes in float32"),
    (
        lambda: sequence_model(layers.LSTM(2, stateful=True), batch_size=3),
        "m",
        "LSTM `.*stateful=False",
    ),
    (
        lambda: sequence_model(
            layers.Lambda(lambda x: x + keras.random.normal((5,)), name="any")
        ),
        "m.tflite",
        "cannot draw random",
    ),
    (
        lambda: sequence_model(
            layers.Reshape((-1, 5, 1, 1)), layers.ConvLSTM2D(1, 1)
        ),
        "m.tflite",
        "ConvLSTM2D `.*Custom cells",
    ),
    (
        lambda: sequence_model(layers.Hashing(3, name="h"), dtype="int32"),
        "m.onnx",
        "Hashing `h`.*outside of the file",
    ),
]


@pytest.mark.parametrize(("make", "name", "message"), REFUSED)
def test_what_cannot_be_exported_is_named(make, name, message, tmp_path):
    model = make()
    with pytest.raises(ValueError, match=f"(?s){message}"):
        ka.export_model(model, tmp_path / name, sample=np.rint(X))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "name", "layer"),
    [
        (
            layers.MaxPooling3D(1, name="deep"),
            "m.tflite",
            "MaxPooling3D `deep`",
        ),
        (
            layers.Lambda(lambda x: keras.ops.argmax(x, -1), name="best"),
            "m.onnx",
            "Lambda `best`",
        ),
    ],
)
def test_a_layer_that_a_format_lacks_is_named(operation, name, layer, tmp_path):
    model = sequence_model(layers.Reshape((-1, 5, 1, 1)), operation)
    with pytest.raises(ValueError, match=f"(?s){layer}.*another layer"):
        ka.export_model(model, tmp_path / name, sample=X)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "pickle"}, "`format` must be one of"),
        ({"format": "onnx"}, r"\.tflite belongs to"),
        ({"quantize": "int4"}, "`quantize` must be one of"),
    ],
)
def test_options_are_checked(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        ka.export_model(
            dense(), tmp_path / "m.tflite", sample=np.ones((2, 3)), **options
        )


def test_what_stands_there_and_is_none_of_ours_stays(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="`path` exists"):
        ka.export_model(dense(), tmp_path / "m", sample=np.ones((2, 3)))
    assert (tmp_path / "m" / "thesis.txt").exists()


def test_missing_packages_are_named(tmp_path, monkeypatch):
    for name, module in (
        ("m.tflite", "ai_edge_litert.interpreter"),
        ("m.onnx", "tf2onnx"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=r"export_model needs .*pip inst"):
            ka.export_model(dense(), tmp_path / name, sample=np.ones((2, 3)))


@pytest.mark.parametrize("shape", [(), (1,)])
def test_text_is_read_in_a_saved_model(shape, tmp_path):
    words = layers.TextVectorization(vocabulary=["a", "b"])
    x = keras.Input(shape, dtype="string", name="x")
    y = layers.Embedding(4, 2)(words(x))
    model = keras.Model(x, layers.GlobalMaxPooling1D(name="y")(y))
    sample = np.array(["a b", "c"], object).reshape(2, *shape)
    ka.export_model(model, tmp_path / "m", sample=sample)
    batch = {"x": tf.constant(sample)}
    (found,) = in_saved_model(tmp_path / "m", [batch])
    np.testing.assert_allclose(found["y"], model(batch["x"]), rtol=1e-6)


def test_another_backend_is_named(tmp_path, monkeypatch):
    model = dense()
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=r"export_model .* backend='jax'"):
        ka.export_model(model, tmp_path / "m", sample=np.ones((2, 3)))


@pytest.mark.parametrize("policy", ["mixed_float16", "float64"])
def test_saved_models_of_other_precision_are_written(policy, tmp_path):
    x = keras.Input((4,), name="x", dtype="float32")
    y = layers.Dense(8, "tanh", dtype=policy)(x)
    model = keras.Model(x, layers.Dense(2, dtype=policy, name="y")(y))
    ka.export_model(model, tmp_path / "m", sample=np.ones((2, 4)))
    (found,) = in_saved_model(tmp_path / "m", [{"x": tf.ones((3, 4))}])
    assert found["y"].dtype == policy.removeprefix("mixed_")


def test_nothing_is_said_of_sizes_that_a_model_cannot_take(tmp_path, capfd):
    table = layers.Lambda(lambda x: x + keras.ops.ones((7, 5)))
    model = keras.Sequential([table, layers.Dense(2)])
    model(X)
    capfd.readouterr()
    ka.export_model(model, tmp_path / "m", sample=X)
    assert "INVALID_ARGUMENT" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"name": "my model"}, "Functional `my model`"),
        ({"name": "größe"}, "Functional `größe`"),
        ({"name": "_a"}, "Functional `_a`"),
        ({"layer": "größe"}, "Dense `größe`"),
        ({"layer": "my layer"}, "Dense `my layer`"),
        ({"layer": "_a"}, "weight `_a/"),
    ],
)
def test_names_that_tensorflow_does_not_take_are_refused(
    names, message, tmp_path
):
    x = keras.Input((3,), name="x")
    y = layers.Dense(2, name=names.get("layer"))(x)
    model = keras.Model(x, y, name=names.get("name"))
    with pytest.raises(ValueError, match=f"^Names of .* Received: {message}"):
        ka.export_model(model, tmp_path / "m", sample=np.ones((2, 3)))
    assert not list(tmp_path.iterdir())


class Noise(layers.Layer):
    def call(self, x):
        return x + keras.random.normal(keras.ops.shape(x))


def test_random_numbers_are_named(tmp_path):
    x = keras.Input((3,), name="x")
    model = keras.Model(x, Noise()(x))
    for name in ("m", "m.onnx"):
        with pytest.raises(
            ValueError, match=r"draws? (no )?random num"
        ) as error:
            ka.export_model(model, tmp_path / name, sample=np.ones((2, 3)))
        assert "fix the sizes" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_full_int8_computes_in_8_bits(tmp_path):
    from ai_edge_litert.interpreter import Interpreter

    keras.utils.set_random_seed(0)
    model = sequence_model(
        layers.Conv1D(16, 3, activation="relu", padding="same"),
        layers.GlobalAveragePooling1D(),
        layers.Dense(3, name="y"),
    )
    x = np.random.default_rng(0).normal(size=(50, 7, 5)).astype("float32")
    path = tmp_path / "m.tflite"
    ka.export_model(model, path, sample=x, quantize="full_int8")
    interpreter = Interpreter(str(path))
    found = interpreter.get_signature_runner("serving_default")(x=x)["y"]
    wanted = model.predict(x, verbose=0)
    assert np.abs(found - wanted).mean() < 0.02 * np.ptp(wanted)
    assert np.abs(found - wanted).max() > 0
    kinds = [x["dtype"] for x in interpreter.get_tensor_details()]
    assert kinds.count(np.int8) > kinds.count(np.float32)


def test_full_int8_refuses_loops(tmp_path):
    model = sequence_model(layers.GRU(4))
    with pytest.raises(ValueError, match=r"without loops.*Use quantize"):
        ka.export_model(
            model, tmp_path / "m.tflite", sample=X, quantize="full_int8"
        )
    assert not list(tmp_path.iterdir())


def test_values_too_fine_for_8_bits_are_refused(tmp_path):
    """One large value takes up the range of 8 bits."""
    x = keras.Input((2,), name="x")
    y = layers.Rescaling(1e-4, name="y")(x[:, :1] * 1.0)
    y = y + 1.0 * (x[:, 1:] - x[:, 1:])
    sample = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    sample[:, 1] = 1e5 * sample[:, 1]
    with pytest.raises(
        ValueError, match=r"8 bits are too few.*quantize='int8'"
    ):
        ka.export_model(
            keras.Model(x, y),
            tmp_path / "m.tflite",
            sample=sample,
            quantize="full_int8",
        )
    assert not list(tmp_path.iterdir())


def test_full_int8_is_of_litert(tmp_path):
    with pytest.raises(
        ValueError, match=r"`quantize` must be one of.*full_int8"
    ):
        ka.export_model(
            dense(),
            tmp_path / "m.onnx",
            sample=X[:, 0, :3],
            quantize="full_int8",
        )
