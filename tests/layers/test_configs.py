"""Configs hold all arguments; what is frozen is so after loading, too."""

import inspect
import json
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import small_model

import keras_attention
from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import FreeRunningDecoder
from keras_attention import LanguageModel
from keras_attention import LayerNormLSTMCell
from keras_attention import LuongGeneral
from keras_attention import RecurrentEncoder
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "weights.json").read_text()
)
X, Y = (None, None, 3), (None, None, 5)


def from_golden(name):
    return getattr(keras_attention, name).from_config(GOLDEN[name]["arguments"])


def decoder():
    cell = [LayerNormLSTMCell(8), LayerNormLSTMCell(8)]
    return AttentionDecoder(AttentionDecoderCell(cell, BahdanauAttention(4)))


def bridge():
    return StateBridge(units=4, bidirectional=False)


LAYERS = {
    "decoder": (decoder, (X, Y)),
    "encoder": (lambda: RecurrentEncoder(4, depth=2), (X,)),
    "one way": (lambda: RecurrentEncoder(4, bidirectional=False), (X,)),
    "norms": (lambda: RecurrentEncoder(4, cell="layer_norm_lstm"), (X,)),
    "cell": (lambda: layers.RNN(LayerNormLSTMCell(4)), (X,)),
    "bridge": (bridge, ([(None, 3)],)),
    **{
        name: (
            lambda name=name: from_golden(name),
            [(None, None, x[k]) for k in ("query", "value") if k in x],
        )
        for name, x in GOLDEN.items()
    },
}


KERAS = {"name", "trainable", "dtype"}  # what any layer of Keras has
CONFIGURED = [
    keras_attention.Monotonic,
    lambda: BahdanauAttention(4),
    lambda: StateBridge(
        units=5,
        bidirectional=False,
        activation="relu",
        kernel_initializer="zeros",
        kernel_regularizer="l2",
    ),
    lambda: AttentionDecoderCell(
        [layers.LSTMCell(4), LayerNormLSTMCell(4, norm_epsilon=0.1)],
        [BahdanauAttention(5), LuongGeneral()],
        order="luong",
        input_feeding=False,
        attention_layer_size=7,
        attention_activation="relu",
        attention_use_bias=True,
        output="concat",
        kernel_constraint="max_norm",
        residual=True,
        attention_window=(1, 2),
        name="it",
    ),
    lambda: AttentionDecoderCell(layers.GRUCell(4), None),
    lambda: LayerNormLSTMCell(
        4,
        0.01,
        activation="relu",
        use_bias=False,
        dropout=0.1,
        recurrent_dropout=0.2,
        seed=3,
        norm_gamma_initializer=keras.initializers.Constant(0.1),
    ),
    lambda: AttentionDecoder(decoder().cell, False, True, True),
    lambda: FreeRunningDecoder(
        decoder(), layers.Dense(3), 4, layers.Dense(3), return_state=True
    ),
]


@pytest.mark.parametrize("make", CONFIGURED)
def test_a_config_holds_every_argument(make):
    made = make()
    config = json.loads(json.dumps(made.get_config()))
    arguments = inspect.signature(type(made).__init__).parameters
    assert set(arguments) - {"self", "kwargs"} | KERAS == set(config)
    for _ in range(2):  # nothing is taken out of it
        again = type(made).from_config(config)
        assert json.loads(json.dumps(again.get_config())) == config
    kept = {k: v for k, v in config.items() if isinstance(v, int | None)}
    for name, value in kept.items():
        assert getattr(again, name) == value


@keras.saving.register_keras_serializable("test_configs")
class Own(BahdanauAttention):
    """Has an argument of its own class, one of Keras', and one it renames."""

    def __init__(self, units, things, size=2, dtype=None, **kwargs):
        super().__init__(units, dtype=dtype, **kwargs)
        self.things, self.renamed = things, size

    def get_config(self):
        own = {"things": list(self.things), "size": self.renamed}
        return {**super().get_config(), **own}


def test_a_subclass_adds_what_cannot_be_found():
    layer = Own(4, iter([1, 2]), 3, dtype="mixed_float16")
    again = Own.from_config(json.loads(json.dumps(layer.get_config())))
    assert (again.units, again.things, again.renamed) == (4, [1, 2], 3)
    assert again.dtype_policy.name == "mixed_float16"


def trains(layer) -> list:
    """Return the weights that train, by their number in the layer."""
    return [i for i, w in enumerate(layer.weights) if w.trainable]


@pytest.mark.parametrize("name", LAYERS)
def test_a_frozen_layer_stays_frozen(name):
    make, shapes = LAYERS[name]
    layer = make()
    layer.trainable = False
    again = type(layer).from_config(layer.get_config())
    again.build(*shapes)
    assert again.weights
    assert trains(again) == []
    again.trainable = True  # and can be thawed
    assert trains(again)


@pytest.mark.parametrize("cell", ["gru", "layer_norm_lstm"])
def test_a_frozen_part_of_an_encoder_stays_frozen(cell):
    made = RecurrentEncoder(4, depth=2, cell=cell, name="encoder")
    made.layers[0].forward_layer.trainable = False
    if cell == "layer_norm_lstm":
        made.layers[1].backward_layer.cell.state_norm.trainable = False
    again = RecurrentEncoder.from_config(made.get_config())
    for layer in (made, again):
        layer.build(X)
    assert trains(again) == trains(made)
    assert 0 < len(trains(again)) < len(made.weights)


@pytest.mark.parametrize("frozen", [[], [0], [1], [0, 1]])
@pytest.mark.parametrize("all_begin_frozen", [False, True])
def test_a_frozen_head_stays_frozen(frozen, all_begin_frozen):
    attention = BahdanauAttention(4, trainable=not all_begin_frozen)
    made = keras_attention.MultiHead(attention, 2)
    for h, head in enumerate(made.heads):
        head.trainable = h not in frozen
    again = keras_attention.MultiHead.from_config(made.get_config())
    for layer in (made, again):
        layer.build(X, X)
    assert trains(again) == trains(made)
    assert len(trains(again)) == len(made.weights) - 3 * len(frozen)


def seq2seq(**changes):
    model = small_model(**changes)
    return model, (SOURCE, TARGET)


def language_model():
    model = LanguageModel(WORDS, 4, layers.GRUCell(4))
    model.build((None, None))
    return model, TARGET


PARTS = [
    (seq2seq, {}, ["encoder", "source_embedding"]),
    (seq2seq, {}, ["target_embedding", "output_layer", "bridge"]),
    (seq2seq, {}, ["decoder"]),
    (seq2seq, {"tie_embeddings": True, "layer_size": 5}, ["target_embedding"]),
    (
        seq2seq,
        {"copying": True, "lexical": True},
        ["pointer_generator", "lexical_translation"],
    ),
    (language_model, {}, ["embedding", "decoder"]),
]


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize(("make", "changes", "frozen"), PARTS)
def test_frozen_parts_of_a_model_stay_frozen(make, changes, frozen, tmp_path):
    model, inputs = make(**changes)
    for name in frozen:
        getattr(model, name).trainable = False
    model.compile("adam", SequenceCrossentropy())
    model.optimizer.build(model.trainable_variables)
    for variable in model.optimizer.variables[2:]:
        variable.assign(np.ones(variable.shape))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    copied = keras.models.clone_model(model)
    copied.build(
        ((None, None), (None, None)) if make is seq2seq else (None, None)
    )
    for again in (loaded, copied):
        assert trains(again) == trains(model)
        assert len(again.weights) > len(trains(again))
    both = model.optimizer.variables, loaded.optimizer.variables
    for one, other in zip(*both, strict=True):
        np.testing.assert_array_equal(
            *map(keras.ops.convert_to_numpy, (one, other))
        )
    before = {w.path: keras.ops.convert_to_numpy(w) for w in loaded.weights}
    loaded.train_on_batch(inputs, TARGET)
    for name in frozen:
        for w in getattr(loaded, name).weights:
            now = keras.ops.convert_to_numpy(w)
            np.testing.assert_array_equal(now, before[w.path])
