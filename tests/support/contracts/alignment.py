"""The contract of an alignment: the laws of weights, under a plain score.

    class TestForwardAlignment(AlignmentContract):
        alignment_class = ForwardAlignment

        def reference_align(self, scores, mask, real, query, weights):
            ...

Scores are those of `LuongGeneral`, whose own test has the laws of layers.
"""

import json

import keras
from contracts.formula import WeightLaws
from contracts.keras_layer import TrainingLaws
from contracts.masks import HiddenLaws
from contracts.steps import StateLaws

from keras_attention import BahdanauAttention
from keras_attention import LuongGeneral


class AlignmentContract(WeightLaws, HiddenLaws, StateLaws, TrainingLaws):
    """Set `alignment_class`, write `reference_align`, inherit the laws."""

    layer_class = LuongGeneral
    alignment_class: type
    alignment_kwargs: dict = {}

    def alignment(self, **changes):
        return self.alignment_class(**{**self.alignment_kwargs, **changes})

    def layer(self, **changes):
        return super().layer(**{"alignment": self.alignment(), **changes})

    def reference_scores(self, query, key, weights):
        return query @ weights["kernel"] @ key.T

    def test_the_layer_owns_it(self):
        layer = self.layer(dtype="mixed_float16")
        assert layer.alignment.dtype_policy == layer.dtype_policy
        assert isinstance(layer.alignment, self.alignment_class)

    def test_its_config_holds_its_arguments(self):
        alignment = self.alignment()
        config = alignment.get_config()
        for name, value in self.alignment_kwargs.items():
            assert getattr(alignment, name) == config[name] == value
        again = self.alignment_class.from_config(json.loads(json.dumps(config)))
        assert again.get_config() == config

    def test_a_layer_takes_its_config(self):
        given = keras.saving.serialize_keras_object(self.alignment())
        layer = self.layer(alignment=json.loads(json.dumps(given)))
        assert isinstance(layer.alignment, self.alignment_class)
        for name, value in self.alignment_kwargs.items():
            assert getattr(layer.alignment, name) == value

    def test_one_object_serves_many_layers(self):
        """Each has a copy, with weights of its own."""
        query, value = self.inputs()
        one = self.trained(alignment=self.alignment())
        other = BahdanauAttention(4, alignment=one.alignment)
        other(query, value)
        assert other.alignment is not one.alignment
        for x, y in zip(
            one.alignment.weights, other.alignment.weights, strict=True
        ):
            assert x is not y
        self.run_steps(one, query, one.prepare(value))
