"""Saving: whole models, their policies, and names in their files."""

import collections
import functools

import h5py
import keras
import numpy as np
import pytest
import samples
from keras import layers
from ready import dtype_policy
from samples import to_numpy
from seq2seqs import functional_model
from seq2seqs import make_model
from seq2seqs import small_model
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import FreeRunningDecoder
from keras_attention import RecurrentEncoder
from keras_attention import StateBridge

SOURCE = np.array([[5, 6, 7, 3], [4, 3, 0, 0]], "int32")
TARGET = np.array([[2, 5, 6], [2, 4, 0]], "int32")


def stacked():
    return make_model(
        [layers.GRUCell(6), layers.GRUCell(6)],
        [samples.ATTENTIONS[name]() for name in ("general", "cosine")],
        words=8,
        encoder=RecurrentEncoder(3, depth=2, cell="gru"),
        order="luong",
        attention_layer_size=7,
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


@pytest.mark.slow
@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("policy", some(["mixed_float16", "mixed_bfloat16"], 1))
def test_a_policy_comes_back(policy, tmp_path):
    with dtype_policy(policy):
        model = stacked()
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
    model = functional_model(samples.ATTENTIONS["normalized"]())
    again = keras.models.clone_model(model)
    shapes = [w.shape for w in model.weights]
    assert [w.shape for w in again.weights] == shapes
    again.set_weights(model.get_weights())
    want = to_numpy(model((SOURCE, TARGET)))
    samples.assert_close(again((SOURCE, TARGET)), want, 0)
    assert not {id(w) for w in again.weights} & {id(w) for w in model.weights}


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


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("attention_activation", "lambda"),
        ("activation", "partial"),
        ("kernel_initializer", "local"),
    ],
)
def test_a_function_without_a_name_runs_and_is_not_saved(tmp_path, name, kind):
    def double(x, dtype=None):
        return keras.ops.ones(x, dtype) if isinstance(x, tuple) else 2 * x

    function = {
        "lambda": lambda x, dtype=None: double(x, dtype),
        "local": double,
        "partial": functools.partial(double, dtype=None),
    }[kind]
    attention = BahdanauAttention(5)
    options = {"order": "luong", "attention_layer_size": 4}
    bridge = StateBridge()
    if name == "activation":
        bridge = StateBridge(activation=function)
    elif name == "kernel_initializer":
        attention = BahdanauAttention(5, kernel_initializer=function)
    else:
        options[name] = function
    model = make_model(attention=attention, bridge=bridge, **options)
    model((SOURCE, TARGET))
    message = f"`{name}` must.*register_keras_serializable"
    for write in (model.save, model.export):
        with pytest.raises(ValueError, match=message):
            write(tmp_path / "model.keras")


def test_a_loop_with_a_function_without_a_name_runs_and_is_not_saved(tmp_path):
    loop = FreeRunningDecoder(
        AttentionDecoder(
            AttentionDecoderCell(layers.GRUCell(4), BahdanauAttention(4))
        ),
        readout=functools.partial(lambda x: x[:, :4]),
        steps=3,
        feed=lambda x: 2 * x,
        stop=lambda x: x[:, 0] > 0,
    )
    first, memory = keras.Input((4,)), keras.Input((None, 3))
    model = keras.Model([first, memory], loop(first, memory))
    assert model([np.ones((2, 4)), np.ones((2, 5, 3))]).shape == (2, 3, 4)
    with pytest.raises(ValueError, match=r"`readout` must.*register_keras"):
        model.save(tmp_path / "model.keras")
