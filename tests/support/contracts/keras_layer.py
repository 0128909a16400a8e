"""Laws of Keras layers: config, saving, symbolic shapes, dtypes, training."""

import keras
import numpy as np
import pytest
from contracts.case import AttentionCase
from gradients import to_numpy
from tiers import some


class TrainingLaws(AttentionCase):
    """What alignments obey too."""

    def model(self, layer, scores=True):
        """The layer, with a mask and a key, from symbolic inputs."""
        query = keras.Input((None, self.query_size))
        value = keras.Input((None, self.value_size))
        mask = keras.Input((None,), dtype="bool")
        out = layer(
            query, value, value_mask=mask, return_attention_scores=scores
        )
        return keras.Model([query, value, mask], out)

    def data(self, batch=2, steps=3, words=5):
        mask = np.arange(words) < np.arange(batch)[:, None] + 2
        return [*self.inputs(batch, steps, words), mask]

    def test_weights_are_attributes(self):
        """Each under the name that checkpoints know it by."""
        layer = self.trained()
        aligner = layer.aligner if layer.alignment else None
        for weight in layer.weights:
            owner = aligner if hasattr(aligner, weight.name) else layer
            assert getattr(owner, weight.name) is weight

    def test_save_and_load(self, tmp_path):
        layer = self.layer(name="attention", dropout=0.1, seed=1)
        model = self.model(layer)
        self.moved(layer)
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        for x, y in zip(model(self.data()), again(self.data()), strict=True):
            np.testing.assert_array_equal(to_numpy(x), to_numpy(y))

    def test_calls_of_any_shape_follow_each_other(self):
        layer = self.trained()
        for batch, steps, words in ((2, 3, 5), (1, 1, 8), (2, 3, 5)):
            query, value, mask = self.data(batch, steps, words)
            got = self.run(layer, query, value, value_mask=mask)
            want = self.reference(layer, query, value, value_mask=mask)
            np.testing.assert_allclose(got[1], want[1], atol=1e-5)


class KerasLayerLaws(TrainingLaws):
    """What layers obey."""

    def test_config_holds_every_argument(self):
        layer = self.layer(dropout=0.1, seed=5, name="attention")
        for name in self.check_config(layer):
            assert hasattr(layer, name), name
        for name, value in self.init_kwargs.items():
            assert getattr(layer, name) == value

    @pytest.mark.parametrize(
        ("steps", "words"), some([(None, None), (3, 5), (None, 5)], 2)
    )
    def test_symbolic_shapes(self, steps, words):
        query = keras.Input((steps, self.query_size))
        value = keras.Input((words, self.value_size))
        key = keras.Input((words, self.key_size))
        context, weights = self.layer(dtype="mixed_bfloat16")(
            query, value, key, return_attention_scores=True
        )
        assert context.shape == (None, steps, self.value_size)
        assert weights.shape == (None, steps, words)
        assert context.dtype == weights.dtype == "bfloat16"
        alone = self.layer()(query, value, key)
        assert alone.shape == context.shape
        assert alone.dtype == "float32"

    def test_context_alone_unless_asked(self):
        query, value = self.inputs()
        layer = self.layer()
        context, _ = self.run(layer, query, value)
        np.testing.assert_array_equal(to_numpy(layer(query, value)), context)

    @pytest.mark.parametrize(
        ("batch", "steps", "words"),
        some([(0, 3, 5), (2, 3, 0), (0, 3, 0), (2, 0, 5)], 3),
    )
    def test_nothing_gives_nothing(self, batch, steps, words):
        """No rows, no source, no queries: zeros, and gradients of zero."""
        layer = self.trained()
        query, value = self.inputs(batch, steps, words)
        context, weights = self.run(layer, query, value)
        assert context.shape == (batch, steps, self.value_size)
        assert weights.shape == (batch, steps, words)
        assert (context == 0).all() or words
        of_query, of_value, of_weights = self.gradients(layer, query, value)
        assert of_query.shape == query.shape
        assert of_value.shape == value.shape
        assert all((x == 0).all() for x in [of_query, *of_weights])
