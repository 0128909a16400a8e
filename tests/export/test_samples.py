"""Interface: names, open axes, and batches made of a sample."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from keras_attention.export.samples import Interface

IDS = np.array([[1, 2, 3, 0], [4, 5, 0, 0]], "int32")


def shapes(interface):
    return {x.name: x.shape.as_list() for x in interface.specs}


class Tagger(keras.Model):
    """A subclass that takes a structure of inputs, and gives one."""

    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(9, 3)
        self.dense = layers.Dense(2)

    def call(self, words, training=None):
        if isinstance(words, dict):
            words, more = words["words"], words["more"]
        elif isinstance(words, list | tuple):
            words, more = words
        else:
            return self.dense(self.embedding(words))
        found = self.dense(
            keras.ops.concatenate([self.embedding(words), more], -1)
        )
        return {"tags": found, "best": (found[:, 0], None)}


def built(sample):
    model = Tagger()
    model(sample)
    return model


def names(model, sample):
    interface = Interface(model, sample)
    return [*interface.sample], [*interface.run(interface.sample)]


def test_names_are_those_of_the_model():
    a, b = keras.Input((3,), name="a"), keras.Input((3,))
    c = layers.Add(name="sum")([a, b])
    states = layers.LSTM(2, return_state=True, name="lstm")(c[:, None])
    x = np.ones((2, 3))
    unnamed = keras.Model([a, b], [c, *states])
    (_, given), found = names(unnamed, [x, x])
    assert given == unnamed.layers[1].name != "a"
    assert found == ["sum", "lstm", "lstm_1", "lstm_2"]
    keyed = keras.Model({"a": a}, {"y": layers.Dense(1)(a), "z": {"deep": a}})
    assert names(keyed, {"a": x, "label": x}) == (["a"], ["y", "z_deep"])
    sequential = keras.Sequential([layers.Embedding(9, 2), layers.GRU(2)])
    sequential(IDS)
    assert names(sequential, IDS) == (["inputs"], [sequential.layers[-1].name])


def test_names_of_a_subclass_are_those_of_its_structures():
    assert names(built(IDS), IDS) == (["words"], ["output_0"])
    pair = [IDS, np.ones((2, 4, 1), "float32")]
    model = built(pair)
    assert names(model, pair) == (["words_0", "words_1"], ["best_0", "tags"])
    keys = {"words": pair[0], "more": pair[1]}
    assert names(model, keys) == (["more", "words"], ["best_0", "tags"])


def test_open_axes_are_those_of_which_the_model_takes_other_sizes():
    x = keras.Input((None, 4), name="x")
    interface = Interface(
        keras.Model(x, layers.Dense(2)(x)), np.ones((2, 4, 4))
    )
    assert shapes(interface) == {"x": [None, None, 4]}
    x = keras.Input((4,), batch_size=2, name="x")
    interface = Interface(keras.Model(x, layers.Dense(2)(x)), np.ones((2, 4)))
    assert shapes(interface) == {"x": [2, 4]}
    # Of a subclass nobody knows, and equal sizes need not belong together.
    sample = [IDS, np.ones((2, 4, 4), "float32")]
    interface = Interface(built(sample), sample)
    wanted = {"words_0": [None, None], "words_1": [None, None, 4]}
    assert shapes(interface) == wanted
    assert [x.dtype for x in interface.specs] == [tf.int32, tf.float32]
    model = keras.Sequential([layers.Flatten(), layers.Dense(2)])
    model(np.ones((2, 4, 3)))
    assert shapes(Interface(model, np.ones((2, 4, 3)))) == {
        "inputs": [None, 4, 3]
    }


def test_trials_grow_and_shrink_and_keep_what_belongs_together():
    ids = keras.Input((None,), dtype="int32", name="ids")
    mask = keras.Input((None,), dtype="bool", name="mask")
    x = layers.Embedding(9, 2)(ids) * keras.ops.cast(mask, "float32")[..., None]
    sample = [IDS, IDS > 0]
    interface = Interface(keras.Model([ids, mask], x), sample)
    batches = [batch for batch, _ in interface.trials()]
    np.testing.assert_array_equal(batches[0]["ids"], IDS)
    sizes = [batch["ids"].shape for batch in batches]
    assert {16, 1, 9} < {rows for rows, _ in sizes}
    assert {1, 2, 4, 8} == {length for _, length in sizes}
    assert sorted(sizes) != sizes != sorted(sizes, reverse=True)
    for batch in batches:
        np.testing.assert_array_equal(batch["mask"], batch["ids"] > 0)
    assert len({tuple(row) for row in batches[5]["ids"]}) > len(IDS)


def test_trials_leave_out_what_the_model_cannot_take():
    x = keras.Input((None, 2), name="x")
    model = keras.Model(x, layers.DepthwiseConv1D(3)(x))
    sizes = [
        batch["x"].shape[1]
        for batch, _ in Interface(model, np.ones((2, 5, 2))).trials()
    ]
    assert set(sizes) == {5, 10}


def test_floats_stay_in_their_range():
    x = keras.Input((3,), name="x")
    interface = Interface(keras.Model(x, layers.Dense(2)(x)), np.ones((2, 3)))
    _, first, *_ = (batch["x"] for batch, _ in interface.trials())
    assert first.dtype == "float32"
    assert 0.5 <= first.min() <= first.max() < 1


def two_inputs():
    a, b = (keras.Input((3,), name=name) for name in "ab")
    return keras.Model([a, b], layers.Add()([a, b]))


def one_input(name="x"):
    x = keras.Input((None, 3), name=name)
    return keras.Model(x, layers.Dense(2)(x))


def of_ids():
    x = keras.Input((None,), dtype="int32", name="x")
    return keras.Model(x, layers.Embedding(9, 2)(x))


X = np.ones((2, 4, 3))


@pytest.mark.parametrize(
    ("model", "sample", "message"),
    [
        (
            two_inputs,
            {"a": X[0]},
            r"inputs of .* \['a', 'b'\]. Received: \['a'\]",
        ),
        (two_inputs, [X[0]], "Received: 1"),
        (one_input, X[..., :2], r"input `x` .*3\).*\(2, 4, 2\)"),
        (one_input, X[0], "axis is the batch axis"),
        (one_input, X[:0], "at least one row"),
        (one_input, tf.ragged.constant([[[1.0]], []]), "Pad its rows"),
        (lambda: one_input("class"), X, "not be Python keywords.*'class'"),
        (lambda: one_input("my x"), X, "Names of inputs must.*'my x'"),
        (lambda: built(IDS), np.array(3), "a batch axis"),
        (
            lambda: built(IDS),
            3,
            "must be an array.* Received: 3. Convert nested",
        ),
        (one_input, X.tolist(), r"Received: 1.0 at '0_0_0'. Convert nested"),
        (two_inputs, [X[0], None], "Received: None at '1'"),
        (lambda: built(IDS), [[1, 2]], "Received: 1 at '0_0'"),
        (one_input, np.array([[["a", None, 3]]], object), "of numbers or of"),
        (of_ids, IDS + 0.5, "the type int32. Received: 1.5, in an array"),
        (lambda: built([IDS, X]), [IDS, X[:1]], "for which the model fails"),
    ],
)
def test_samples_that_do_not_fit_are_refused(model, sample, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        Interface(model(), sample)
