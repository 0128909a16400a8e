"""load_tfa_weights: variables are told apart by names and counters."""

import h5py
import keras
import numpy as np
import pytest
import samples
from gradients import to_numpy
from tfa_programs import make_model
from tfa_programs import variables

import keras_attention as ka
from keras_attention import load_tfa_weights

INSIDE = "m/decoder/attention_wrapper/BahdanauAttention/"


def additive():
    layer = ka.BahdanauAttention(5)
    layer.build((None, None, 2), (None, None, 3))
    return layer


def general(use_scale=False, alignment="softmax"):
    layer = ka.LuongGeneral(use_scale, alignment=alignment)
    layer.build((None, None, 2), (None, None, 3))
    return layer


def cell_of(*attentions, **options):
    """A cell of two units, and a source that has the recurrent cell's part."""
    cell = ka.AttentionDecoderCell(
        keras.layers.SimpleRNNCell(2, use_bias=False),
        list(attentions),
        order="luong",
        input_feeding=False,
        **options,
    )
    cell.build((None, None, 4), (None, None, 3))
    return cell, {"a/kernel": np.ones((4, 2)), "a/recurrent_kernel": np.eye(2)}


def numbered(**shapes):
    """Arrays whose first entry tells which they are."""
    return {
        name: np.full(shape, 1.0 + i)
        for i, (name, shape) in enumerate(shapes.items())
    }


def loaded(layer, names, source, prefix=""):
    """Load a source; the number that each of some weights got."""
    load_tfa_weights(layer, source, prefix)
    return [to_numpy(getattr(layer, name)).flat[0] for name in names]


def refused(target, source, match, prefix=""):
    with pytest.raises(ValueError, match=match) as error:
        load_tfa_weights(target, source, prefix)
    return str(error.value)


# Cells, embeddings and other layers.


def stack(*names):
    """Two equal cells, and a source with those names."""
    cells = [keras.layers.SimpleRNNCell(2, use_bias=False) for _ in range(2)]
    layer = keras.layers.StackedRNNCells(cells)
    layer.build((None, 2))
    fields = ("kernel", "recurrent_kernel")
    return layer, numbered(
        **{f"{name}/{x}": (2, 2) for name in names for x in fields}
    )


def test_names_that_differ_in_more_give_no_order():
    said = refused(*stack("upper", "lower"), "neither is used")
    assert said.index("Missing") < said.index("Left over:\n  upper/kernel")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("model/encoder/en", "x"),
        ("x", "encoder_decoder/decoder/en"),
        ("rnn_2", "rnn_10"),
        ("source/decoder/encoder", "wrapper_1/attention_wrapper"),
        (None, "encoder/x"),
        ("de", "en"),
    ],
)
def test_the_last_part_that_tells_a_side_counts(source, target):
    """Then counters, and nothing else."""
    model = make_model("additive", source_vocabulary_size=13)
    arrays = dict(variables("additive"))
    _, table = (arrays.pop(k) for k in [*arrays] if "embeddings" in k)
    arrays[f"{target}/embeddings"] = table
    if source is not None:
        arrays[f"{source}/embeddings"] = 2 * table
    if source in (None, "de"):
        refused(model, arrays, "Missing:\n  .*_embedding")
        return
    load_tfa_weights(model, arrays)
    ours = to_numpy(model.target_embedding.embeddings)
    theirs = to_numpy(model.source_embedding.embeddings)
    np.testing.assert_allclose(ours, table / 2, atol=1e-6)
    np.testing.assert_allclose(theirs, table, atol=1e-6)


def test_layouts_that_are_not_supported_are_named():
    cell = keras.layers.LSTMCell(3)
    cell.build((None, 2))
    source = numbered(**{"lstm_cell/kernel": (5, 12), "lstm_cell/bias": (12,)})
    said = refused(cell, source, "Nothing was changed")
    for words in ("TensorFlow 1", "CuDNNLSTM", "reset_after"):
        assert words in said
    assert "recurrent_kernel (3, 12)" in said


# Mechanisms.


@pytest.mark.parametrize("name", ["mine", "a/vars", "attention"])
def test_numbers_of_an_unknown_layer_are_refused(name, tmp_path):
    """A `.weights.h5` file has no names, and nothing is told by shapes."""
    path = tmp_path / "mine.weights.h5"
    with h5py.File(path, "w") as file:
        file[f"{name}/vars/0"] = 4.0
        file["mechanism/memory_layer/vars/0"] = np.ones((3, 2))
    said = refused(general(use_scale=True), path, "dictionary of names")
    assert f"Left over:\n  {name}/vars/0 ()" in said
    assert "Missing:\n  luong_general" in said


def test_shapes_tell_nothing():
    """Two layers without counters are refused, though one order fits."""
    kernels = numbered(**{"m/one/kernel": (2, 3), "m/two/kernel": (3, 4)})
    layer = keras.Sequential(
        [keras.layers.Dense(n, use_bias=False) for n in (3, 4)]
    )
    layer.build((None, 2))
    refused(layer, kernels, "neither is used")


def test_a_name_that_comes_twice_is_refused():
    source = numbered(
        **{
            "a/BahdanauAttention/memory_layer/kernel": (3, 5),
            "b/BahdanauAttention/memory_layer/kernel": (3, 5),
            f"{INSIDE}attention_v": (5,),
            f"{INSIDE}kernel": (2, 5),
        }
    )
    for prefix in ("", "m"):
        refused(additive(), source, "Left over:\n  b/Bahdanau", prefix)


def test_indices_give_the_order_and_names_do_not():
    cell, source = cell_of(ka.LuongGeneral(), ka.LuongGeneral())
    name = "m/_attention_mechanisms/{}/memory_layer/kernel"
    kernels = {name.format(i): (3, 2) for i in (1, 0)}
    load_tfa_weights(cell, source | numbered(**kernels))
    got = [to_numpy(x.kernel)[0, 0] for x in cell.attentions]
    assert got == [2, 1]
    kernels = {f"m/{x}/memory_layer/kernel": (3, 2) for x in ("one", "two")}
    refused(cell, source | numbered(**kernels), "neither is used")


def test_attentional_layers_are_joined_with_zeros_between():
    """[[s; c1] A, [s; c2] B, ...] as one kernel for [s; c1; c2; c3]."""
    cell, source = cell_of(
        *(ka.LuongGeneral() for _ in range(3)),
        attention_layer_size=7,
        attention_activation=None,
        attention_use_bias=True,
    )
    parts = {4: "layer", 1: "layer_1", 2: "layer_2"}
    kernels = {n: samples.draw(5, n, seed=n) for n in parts}
    biases = {n: samples.draw(n, seed=n) for n in parts}
    for i, (n, name) in enumerate(parts.items()):
        owner = f"attention_wrapper/attention_{name}"
        source |= {f"{owner}/kernel": kernels[n], f"{owner}/bias": biases[n]}
        key = f"_attention_mechanisms/{i}/memory_layer/kernel"
        source[key] = np.ones((3, 2))
    load_tfa_weights(cell, source)
    state = samples.draw(1, 2)
    contexts = [samples.draw(1, 3, seed=i) for i in range(3)]
    wanted = [
        np.concatenate([state, context], -1) @ kernels[n] + biases[n]
        for context, n in zip(contexts, parts, strict=True)
    ]
    joint = np.concatenate([state, *contexts], -1)
    got = joint @ to_numpy(cell.attention_kernel)
    got = got + to_numpy(cell.attention_bias)
    np.testing.assert_allclose(got, np.concatenate(wanted, -1), atol=1e-6)
    named = {
        k.replace("attention_layer/", "my_layer/"): source[k] for k in source
    }
    refused(cell, named, "Left over:\n  attention_wrapper/my_layer")
    del source["attention_wrapper/attention_layer_2/kernel"]
    refused(cell, source, "attention_kernel takes")


def test_a_prefix_completes_a_mechanism_from_outside_of_other_wrappers():
    source = numbered(
        **{
            "m/BahdanauAttention/memory_layer/kernel": (3, 5),
            f"{INSIDE}attention_v": (5,),
            f"{INSIDE}kernel": (2, 5),
            "m/b/attention_wrapper_1/BahdanauAttention/kernel": (2, 5),
            "m/LuongAttention/memory_layer/kernel": (3, 2),
        }
    )
    names = ["key_kernel", "score_vector", "query_kernel"]
    assert loaded(additive(), names, source, "m/decoder") == [1, 2, 3]
