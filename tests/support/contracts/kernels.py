"""Laws of layers with kernels: one set of arguments makes all of them."""

import keras
import numpy as np
import pytest
from contracts.case import AttentionCase
from gradients import to_numpy


class KernelLaws(AttentionCase):
    kernel_names: tuple = ("kernel",)

    def kernels(self, layer):
        """The weights that the kernel arguments speak for."""
        return [w for w in layer.weights if w.name in self.kernel_names]

    def test_the_initializer_makes_every_kernel(self):
        layer = self.layer(kernel_initializer=keras.initializers.Constant(0.25))
        layer(*self.inputs())
        assert {w.name for w in self.kernels(layer)} == set(self.kernel_names)
        for w in self.kernels(layer):
            np.testing.assert_array_equal(to_numpy(w), np.full(w.shape, 0.25))

    def test_the_regularizer_sees_every_kernel(self):
        layer = self.layer(kernel_regularizer=keras.regularizers.L2(0.5))
        layer(*self.inputs())
        want = sum(0.5 * (to_numpy(w) ** 2).sum() for w in self.kernels(layer))
        got = float(to_numpy(sum(layer.losses)))
        assert got == pytest.approx(want, rel=1e-5)

    def test_the_constraint_holds_for_every_kernel(self):
        constraint = keras.constraints.NonNeg()
        layer = self.layer(kernel_constraint=constraint)
        layer.build(*(x.shape for x in self.inputs()))
        bound = [w.name for w in layer.weights if w.constraint is constraint]
        assert set(bound) == set(self.kernel_names)

    def test_kernels_of_one_shape_start_apart(self):
        for initializer in (
            "glorot_uniform",
            keras.initializers.RandomNormal(),
        ):
            layer = self.layer(kernel_initializer=initializer)
            size = max(self.query_size, self.value_size)
            layer.build((None, None, size), (None, None, size))
            kernels = [to_numpy(w) for w in self.kernels(layer)]
            for n, x in enumerate(kernels):
                for y in kernels[:n]:
                    assert x.shape != y.shape or (x != y).all()

    def test_kernel_arguments_come_back(self):
        layer = self.layer(
            kernel_initializer=keras.initializers.HeNormal(seed=2),
            kernel_regularizer="l1",
            kernel_constraint=keras.constraints.MaxNorm(3),
        )
        again = self.layer_class.from_config(self.check_config(layer))
        assert again.kernel_constraint.max_value == 3
        assert isinstance(again.kernel_initializer, keras.initializers.HeNormal)
