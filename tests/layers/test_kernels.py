"""AbstractKernelLayer: kernels are made alike, and start apart."""

import json

import keras
import numpy as np
import pytest
from gradients import to_numpy

from keras_attention.layers import AbstractKernelLayer


class TwoKernels(AbstractKernelLayer):
    def build(self, shape):
        self.one = self.add_kernel("one", (shape[-1], 3))
        self.other = self.add_kernel("other", (shape[-1], 3))


def make(**kwargs):
    layer = TwoKernels(**kwargs)
    layer.build((None, 4))
    return layer


def values(layer):
    return [to_numpy(w) for w in (layer.one, layer.other)]


@pytest.mark.parametrize(
    "initializer", ["glorot_uniform", "orthogonal", keras.initializers.HeNormal]
)
def test_kernels_start_apart(initializer):
    if isinstance(initializer, type):
        initializer = initializer()
    one, other = values(make(kernel_initializer=initializer))
    assert (one != other).all()


def test_glorot_is_the_default():
    one, other = values(make())
    limit = np.sqrt(6 / (4 + 3))
    for x in (one, other):
        assert (np.abs(x) <= limit).all()
        assert np.abs(x).max() > limit / 4


def test_an_initializer_may_be_a_function():
    def halves(shape, dtype=None):
        return keras.ops.full(shape, 0.5, dtype)

    for x in values(make(kernel_initializer=halves)):
        np.testing.assert_array_equal(x, np.full((4, 3), 0.5))


def test_a_seed_brings_the_same_kernels_back():
    def seeded():
        initializer = keras.initializers.GlorotUniform(seed=4)
        return values(make(kernel_initializer=initializer))

    for x, y in zip(seeded(), seeded(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_given_initializer_stays_as_it_was():
    initializer = keras.initializers.GlorotUniform(seed=4)
    before = initializer.get_config()
    layer = make(kernel_initializer=initializer)
    assert layer.kernel_initializer is initializer
    assert initializer.get_config() == before


def test_regularizer_and_constraint_hold_for_all():
    layer = make(
        kernel_initializer="ones",
        kernel_regularizer=keras.regularizers.L1(0.5),
        kernel_constraint="non_neg",
    )
    assert float(to_numpy(sum(layer.losses))) == pytest.approx(12.0)
    for w in layer.weights:
        assert isinstance(w.constraint, keras.constraints.NonNeg)


def test_kernels_are_read_at_full_precision():
    """What multiplies by them casts them, inside and outside of `call`."""

    class Reader(TwoKernels):
        def call(self, x):
            self.seen = keras.backend.standardize_dtype(self.one.value.dtype)
            return x

    layer = Reader(dtype="mixed_float16")
    layer(np.ones((2, 4)))
    assert layer.seen == "float32"


def test_names():
    assert [w.name for w in make().weights] == ["one", "other"]


@pytest.mark.parametrize("regularizer", [None, "l2"])
@pytest.mark.parametrize("constraint", [None, keras.constraints.UnitNorm()])
def test_config_round_trip(regularizer, constraint):
    layer = make(
        kernel_initializer="he_normal",
        kernel_regularizer=regularizer,
        kernel_constraint=constraint,
        name="two",
    )
    config = layer.get_config()
    again = TwoKernels.from_config(json.loads(json.dumps(config)))
    assert again.get_config() == config
    assert type(again.kernel_constraint) is type(constraint)


@pytest.mark.parametrize("what", ["initializer", "regularizer", "constraint"])
def test_refuses_unknown_names(what):
    with pytest.raises(ValueError, match="no_such_thing"):
        TwoKernels(**{f"kernel_{what}": "no_such_thing"})
