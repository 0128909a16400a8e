"""Saving: whole models, loaded by a process that knows the package alone."""

import collections
import os
import pathlib
import subprocess
import sys

import h5py
import keras
import numpy as np
import pytest
import samples
from keras import layers
from ready import EAGER
from ready import dtype_policy
from ready import make_ready
from samples import draw
from samples import to_numpy
from seq2seqs import make_model
from seq2seqs import small_model
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import RecurrentEncoder
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = np.array([[5, 6, 7, 3], [4, 3, 0, 0]], "int32")
TARGET = np.array([[2, 5, 6], [2, 4, 0]], "int32")
LABELS = np.array([[5, 6, 3], [4, 3, 0]], "int32")
OPTIONS = {"return_sequences": True, "return_state": True}

LOAD = """
import sys, warnings
import numpy as np
import keras, keras_attention

warnings.simplefilter("error", UserWarning)
for path in sys.argv[1:]:
    model = keras.models.load_model(path)
    x = np.load(path + ".npz")
    inputs = (x["source"], x["target"])
    steps = int(keras.ops.convert_to_numpy(model.optimizer.iterations))
    outputs = keras.ops.convert_to_numpy(model(inputs))
    loss = model.train_on_batch(inputs, x["labels"])
    np.savez(path + ".out.npz", outputs=outputs, steps=steps, loss=loss)
"""


def decoder(cell, attention, **kwargs):
    return AttentionDecoder(AttentionDecoderCell(cell, attention, **kwargs))


def functional(cell, attention, **kwargs):
    """Embeddings, a Keras encoder, our bridge and decoder, logits."""
    source, target = (keras.Input((None,), dtype="int32") for _ in range(2))
    encoder = layers.Bidirectional(layers.LSTM(3, **OPTIONS))
    embed = layers.Embedding(8, 5, mask_zero=True)
    memory, *states = encoder(embed(source))
    outputs = decoder(cell, attention, **kwargs)(
        embed(target), memory, initial_state=StateBridge()(states)
    )
    return keras.Model([source, target], layers.Dense(8)(outputs))


def seq2seq(cell, attention, **changes):
    options = {"words": 8, "encoder": RecurrentEncoder(3), **changes}
    return make_model(cell, attention, **options)


def every_attention():
    """All of them, asked by one decoder."""
    return [make() for make in samples.ATTENTIONS.values()]


MODELS = {
    "functional": lambda: functional(
        layers.LSTMCell(6), samples.ATTENTIONS["normalized"]()
    ),
    "every_attention": lambda: functional(
        layers.LSTMCell(6), every_attention(), order="luong"
    ),
    "seq2seq": lambda: seq2seq(
        layers.LSTMCell(6), samples.ATTENTIONS["bahdanau"]()
    ),
    "stacked": lambda: seq2seq(
        [layers.GRUCell(6), layers.GRUCell(6)],
        [samples.ATTENTIONS[name]() for name in ("general", "cosine")],
        encoder=RecurrentEncoder(3, depth=2, cell="gru"),
        order="luong",
        attention_layer_size=7,
    ),
    "keras_stack": lambda: seq2seq(
        layers.StackedRNNCells([layers.LSTMCell(6), layers.LSTMCell(6)]),
        samples.ATTENTIONS["location"](),
        encoder=RecurrentEncoder(3, depth=2),
    ),
    "no_attention": lambda: seq2seq(
        layers.LSTMCell(5, dropout=0.1),
        None,
        encoder=layers.LSTM(4, **OPTIONS),
        bridge=StateBridge(units=5, bidirectional=False),
    ),
}


def randomized(name):
    """A model whose weights are all random."""
    keras.utils.set_random_seed(0)
    model = MODELS[name]()
    model((SOURCE, TARGET))
    samples.randomize(model)
    return model


def trained(name):
    """The same after a step with a compiled optimizer."""
    model, adam = randomized(name), keras.optimizers.Adam(0.01)
    model.compile(adam, loss=SequenceCrossentropy(), **EAGER)
    make_ready(model, (SOURCE, TARGET))
    model.train_on_batch((SOURCE, TARGET), LABELS)
    return model


@pytest.mark.thorough
def test_a_fresh_process_loads_every_model(tmp_path):
    """Equal outputs to the last bit, and the optimizer goes on from there."""
    paths, wanted = [], {}
    for name in MODELS:
        model, path = trained(name), str(tmp_path / f"{name}.keras")
        model.save(path)
        np.savez(path + ".npz", source=SOURCE, target=TARGET, labels=LABELS)
        outputs = to_numpy(model((SOURCE, TARGET)))
        loss = model.train_on_batch((SOURCE, TARGET), LABELS)
        paths.append(path)
        wanted[path] = (outputs, loss)
    result = subprocess.run(
        [sys.executable, "-c", LOAD, *paths],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    for path, (outputs, loss) in wanted.items():
        found = np.load(path + ".out.npz")
        np.testing.assert_array_equal(found["outputs"], outputs, path)
        assert found["steps"] == 1
        if "no_attention" not in path:  # its dropout draws anew
            np.testing.assert_allclose(found["loss"], loss, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(["every_attention", "keras_stack"], 1))
def test_weights_alone_can_be_loaded(name, tmp_path):
    model, path = randomized(name), tmp_path / "model.weights.h5"
    model.save_weights(path)
    other = MODELS[name]()
    other((SOURCE, TARGET))
    other.load_weights(path)
    samples.assert_close(
        other((SOURCE, TARGET)), to_numpy(model((SOURCE, TARGET))), 0
    )


BRIDGE, CELL = "bridge/vars", "decoder/cell"
LOOP = "encoder/layers/bidirectional/{}_layer/cell/vars"
PARTS = {  # groups of a file, and how many weights each has
    BRIDGE: 2,
    f"{CELL}/attention/vars": 3,
    f"{CELL}/cell/vars": 3,
    LOOP.format("backward"): 3,
    LOOP.format("forward"): 3,
    "layers/reversible_embedding/vars": 1,
}
TIED = {f"{CELL}/vars": 1}
UNTIED = {"layers/embedding/vars": 1, "layers/dense/vars": 2}


@pytest.mark.parametrize(
    ("tie", "groups"),
    [("all", {**PARTS, **TIED}), (False, {**PARTS, **UNTIED})],
)
def test_names_in_files_of_weights_stay(tie, groups, tmp_path):
    """Keras names some by the class of a layer. Old files depend on them."""
    size = 5 if tie else None
    model = small_model(layer_size=size, tie_embeddings=tie)
    model.save_weights(tmp_path / "model.weights.h5")
    found = collections.Counter()

    def count(name, item):
        if isinstance(item, h5py.Dataset):
            found[name.rpartition("/")[0]] += 1

    with h5py.File(tmp_path / "model.weights.h5") as file:
        file.visititems(count)
    assert found == groups


class Wrapper(keras.Model):
    """Somebody's own model around ours."""

    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def call(self, inputs, training=None):
        return self.inner(inputs, training=training)

    def get_config(self):
        inner = keras.saving.serialize_keras_object(self.inner)
        return {**super().get_config(), "inner": inner}

    @classmethod
    def from_config(cls, config):
        inner = keras.saving.deserialize_keras_object(config["inner"])
        return cls(**{**config, "inner": inner})


@pytest.mark.slow
@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("name", some(["stacked", "functional"], 1))
def test_inside_of_another_model(name, tmp_path):
    model = Wrapper(MODELS[name]())
    model((SOURCE, TARGET))
    samples.randomize(model)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(
        tmp_path / "model.keras", custom_objects={"Wrapper": Wrapper}
    )
    want = to_numpy(model((SOURCE, TARGET)))
    samples.assert_close(again((SOURCE, TARGET)), want, 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("policy", some(["mixed_float16", "mixed_bfloat16"], 1))
def test_a_policy_comes_back(policy, tmp_path):
    with dtype_policy(policy):
        model = MODELS["stacked"]()
    model((SOURCE, TARGET))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    cell = again.decoder.cell
    for part in (again, again.decoder, cell, *cell.cells, *cell.attentions):
        assert part.dtype_policy.name == policy
    want = to_numpy(model((SOURCE, TARGET)))
    samples.assert_close(again((SOURCE, TARGET)), want, 0)


@pytest.mark.filterwarnings("ignore:.*destroy the mask")  # by Keras 3.16
@pytest.mark.filterwarnings("error::UserWarning")
def test_a_cloned_model_has_its_own_weights():
    model = MODELS["functional"]()
    again = keras.models.clone_model(model)
    shapes = [w.shape for w in model.weights]
    assert [w.shape for w in again.weights] == shapes
    again.set_weights(model.get_weights())
    want = to_numpy(model((SOURCE, TARGET)))
    samples.assert_close(again((SOURCE, TARGET)), want, 0)
    assert not {id(w) for w in again.weights} & {id(w) for w in model.weights}


@pytest.mark.slow
def test_a_decoder_over_features_saves_alone(tmp_path):
    """With its optional outputs, and states that go in as inputs."""
    unit = decoder(
        layers.LSTMCell(4), samples.ATTENTIONS["bahdanau"](), order="luong"
    )
    unit.return_state = unit.return_attention_scores = True
    sequence, memory = keras.Input((None, 3)), keras.Input((None, 6))
    states = [keras.Input((size,)) for size in (4, 4, 6)]
    outputs = unit(sequence, memory, initial_state=states)
    model = keras.Model([sequence, memory, *states], list(outputs))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    inputs = [
        draw(2, *shape, dtype="float32")
        for shape in ((3, 3), (5, 6), (4,), (4,), (6,))
    ]
    want = model.predict(inputs, verbose=0)
    samples.assert_close(again.predict(inputs, verbose=0), want, 0)


@pytest.mark.filterwarnings("ignore:.*does not have a `quantize`")
def test_a_quantized_model_is_saved_whole(tmp_path):
    encoder = layers.GRU(8, return_sequences=True)
    model = small_model(layer_size=6, encoder=encoder, bridge=None)
    model.quantize("int8")
    inputs = np.array([[2, 4, 5, 3]]), np.array([[2, 6, 7]])
    wanted = model(inputs)
    model.save(tmp_path / "it.keras")
    again = keras.models.load_model(tmp_path / "it.keras")
    np.testing.assert_array_equal(to_numpy(again(inputs)), to_numpy(wanted))
    assert again.output_layer.quantization_mode == "int8"
