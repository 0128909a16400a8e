"""from_keras_layers: the same contexts and weights as Keras' layers."""

import keras
import numpy as np
import pytest
import samples
from gradients import to_numpy

import keras_attention as ka
from keras_attention.migration import from_keras_layers

QUERY = samples.draw(2, 3, 4, seed=1, dtype="float32")
VALUE = samples.draw(2, 5, 4, seed=2, dtype="float32")
KEY = samples.draw(2, 5, 4, seed=3, dtype="float32")
MASK = samples.mask([3, 5], 5)
LAYERS = {
    "additive": lambda: keras.layers.AdditiveAttention(),
    "additive, no scale": lambda: keras.layers.AdditiveAttention(False),
    "dot": lambda: keras.layers.Attention(),
    "dot, scale": lambda: keras.layers.Attention(use_scale=True),
    "concat": lambda: keras.layers.Attention(score_mode="concat"),
    "concat, scale": lambda: keras.layers.Attention(True, "concat"),
}
every_layer = pytest.mark.parametrize("name", LAYERS)


@every_layer
def test_a_layer_computes_the_same(name):
    theirs = LAYERS[name]()
    theirs([QUERY, VALUE, KEY])
    samples.randomize(theirs)
    ours = from_keras_layers(theirs)
    options = {"return_attention_scores": True, "use_causal_mask": True}
    want = theirs([QUERY, VALUE, KEY], mask=[None, MASK, None], **options)
    got = ours(QUERY, VALUE, KEY, value_mask=MASK, **options)
    samples.assert_close(got, want, atol=1e-6)
    assert ours.name == theirs.name


def make_model(layer):
    """Two texts, each word of one of which attends to the other."""
    embed = keras.layers.Embedding(9, 4, mask_zero=True)
    query = keras.Input((None,), dtype="int32")
    value = keras.Input((None,), dtype="int32")
    words = embed(query)
    context = layer([words, embed(value)])
    joint = keras.layers.Concatenate()([words, context])
    outputs = keras.layers.Dense(3)(joint)
    model = keras.Model([query, value], outputs)
    samples.randomize(model)
    return model


@every_layer
def test_a_model_computes_the_same(name):
    model = make_model(LAYERS[name]())
    ours = from_keras_layers(model)
    ids = np.array([[2, 5, 6], [1, 3, 8]]), np.array([[7, 4, 0], [2, 6, 5]])
    samples.assert_close(ours(ids), model(ids), atol=1e-5)
    kinds = [type(x) for x in ours.layers]
    assert ka.BahdanauAttention in kinds or ka.DotAttention in kinds


def test_masks_arguments_and_inner_models_come_along():
    inner = make_model(keras.layers.Attention(use_scale=True, dropout=0.5))
    ids = [keras.Input((None,), dtype="int32") for _ in range(2)]
    layer = keras.layers.AdditiveAttention(trainable=False)
    words = inner(ids)
    found = layer([words, words], use_causal_mask=True)
    model = keras.Model(ids, found)
    samples.randomize(model)
    ours = from_keras_layers(model)
    given = np.array([[2, 5, 6], [1, 3, 8]]), np.array([[7, 4, 0], [2, 6, 5]])
    samples.assert_close(ours(given), model(given), atol=1e-5)
    inside = next(x for x in ours.layers if isinstance(x, keras.Model))
    (dot,) = [x for x in inside.layers if isinstance(x, ka.DotAttention)]
    assert dot.dropout == 0.5
    assert not ours.get_layer(layer.name).trainable


def functional(layer):
    x = keras.Input((3,))
    return keras.Model(x, layer(x))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: keras.layers.MultiHeadAttention(1, 2), "MultiHeadAttention"),
        (lambda: keras.layers.AdditiveAttention(), "built=False"),
        (lambda: keras.Sequential([keras.layers.Dense(2)]), "functional"),
        (lambda: functional(keras.layers.Dense(2)), "Dense"),
        (lambda: "layer", "source='layer'"),
    ],
)
def test_what_has_no_equal_is_refused(make, match):
    with pytest.raises(ValueError, match=match):
        from_keras_layers(make())


def test_a_subclassed_model_is_refused():
    class Mine(keras.Model):
        def call(self, x):
            return x

    with pytest.raises(ValueError, match="functional"):
        from_keras_layers(Mine())


@pytest.mark.slow
def test_the_model_is_saved_and_trains(tmp_path):
    ours = from_keras_layers(make_model(keras.layers.AdditiveAttention()))
    ids = [np.array([[2, 5, 6]]), np.array([[7, 4, 0]])]
    ours.compile("sgd", "mse")
    ours.fit(ids, np.ones((1, 3, 3)), verbose=0)
    ours.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        to_numpy(again(ids)), to_numpy(ours(ids)), atol=1e-6
    )
