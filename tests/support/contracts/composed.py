"""Laws of the layers made from attention, `layer(x, ...)`.

A case says `inputs()`, a list of arrays whose first is `x`, `mask_of()`, and
`reference(layer, *inputs, mask)`, the paper in NumPy.
"""

import keras
import numpy as np
import pytest
from contracts.case import DTYPES
from contracts.case import TOLERANCE
from contracts.case import LayerCase
from gradients import check_gradients
from gradients import gradients
from gradients import to_numpy
from keras import ops
from tiers import some

MASK = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], bool)


class ComposedLaws(LayerCase):
    """Set `layer_class` and `init_kwargs`, write `inputs` and `reference`."""

    def inputs(self, dtype="float32", size=3):
        draw = np.random.default_rng(0).normal
        return [draw(size=(2, 5, size)).astype(dtype)]

    def loss(self, layer, rest=(), **kwargs):
        def number(x, *weights):
            mapping = zip(layer.trainable_weights, weights, strict=True)
            with keras.StatelessScope(state_mapping=list(mapping)):
                out = layer(x, *rest, **kwargs)
            angles = ops.arange(out.shape[-1], dtype=out.dtype)
            return ops.sum(ops.square(out) * ops.cos(angles))

        return number

    @pytest.mark.sharp
    @pytest.mark.parametrize("dtype", some(["float64", "float32"], 1))
    @pytest.mark.parametrize("mask", [None, MASK], ids=["", "masked"])
    def test_agrees_with_the_paper(self, dtype, mask):
        inputs = self.inputs(dtype)
        layer = self.trained(dtype=dtype)
        got = self.run(layer, *inputs, mask=mask)
        real = np.ones((2, 5), bool) if mask is None else mask
        want = self.reference(*inputs, real, self.named(layer))
        for x, y in zip(got, want, strict=True):
            assert x.dtype == dtype
            np.testing.assert_allclose(x, y, atol=TOLERANCE[dtype])

    @pytest.mark.sharp
    def test_gradients_are_slopes(self):
        x, *rest = self.inputs("float64")
        layer = self.trained(dtype="float64")
        check_gradients(
            self.loss(layer, rest, mask=MASK), [x, *self.weights_of(layer)]
        )

    @pytest.mark.sharp
    @pytest.mark.parametrize("dtype", some(DTYPES, 1))
    def test_padding_never_matters(self, dtype):
        x, *rest = self.inputs()
        layer = self.trained(dtype=dtype)
        loud = np.where(MASK[..., None], x, np.nan).astype("float32")
        quiet = np.where(MASK[..., None], x, 0).astype("float32")
        outcomes = []
        for given in (loud, quiet):
            out = self.run(layer, given, *rest, mask=MASK)
            slopes = gradients(
                self.loss(layer, rest, mask=MASK),
                [given, *self.weights_of(layer)],
            )
            outcomes.append([*self.real_rows(out), *slopes])
        for one, other in zip(*outcomes, strict=True):
            assert np.isfinite(one).all()
            np.testing.assert_array_equal(one, other)

    def real_rows(self, out):
        return out

    @pytest.mark.sharp
    @pytest.mark.parametrize("dtype", some(DTYPES, 1))
    def test_nothing_real_nothing_given(self, dtype):
        x, *rest = self.inputs()
        mask = np.array([[True] * 5, [False] * 5])
        layer = self.trained(dtype=dtype)
        for given in self.run(layer, x, *rest, mask=mask):
            assert (given[1] == 0).all()
        slopes = gradients(
            self.loss(layer, rest, mask=mask), [x, *self.weights_of(layer)]
        )
        assert (slopes[0][1] == 0).all()
        assert all(np.isfinite(slope).all() for slope in slopes)

    def symbolic(self):
        return [keras.Input(x.shape[1:], dtype=x.dtype) for x in self.inputs()]

    def test_symbolic_shapes(self):
        """Those of what comes out."""
        layer, inputs = self.layer(), self.symbolic()
        out = layer(*inputs, return_attention_scores=True)
        given = self.run(self.layer(), *self.inputs())
        for x, y in zip(out, given, strict=True):
            assert (None, *y.shape[1:]) == x.shape
        shapes = [x.shape for x in inputs]
        assert layer.compute_output_shape(*shapes) == out[0].shape

    def test_save_and_load(self, tmp_path):
        inputs = self.symbolic()
        mask = keras.Input((5,), dtype="bool")
        layer = self.layer(name="layer")
        model = keras.Model([*inputs, mask], layer(*inputs, mask=mask))
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        data = [*self.inputs(), MASK]
        np.testing.assert_array_equal(
            to_numpy(model(data)), to_numpy(again(data))
        )

    def test_config_holds_every_argument(self):
        self.check_config(self.layer(name="layer"))
