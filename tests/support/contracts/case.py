"""What a test of an attention layer is made of: layer, inputs, an oracle."""

import inspect
import json

import keras
import numpy as np
import pytest
from gradients import gradients
from gradients import to_numpy
from keras import ops
from tiers import some

from keras_attention.ops import widen

DTYPES = ["float16", "float32", "bfloat16"]  # the sharpest first
POLICIES = ["mixed_float16", "mixed_bfloat16"]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3}
TOLERANCE["bfloat16"] = 3e-2


class LayerCase:
    """Set `layer_class` and `init_kwargs`, and write `inputs`."""

    layer_class: type
    init_kwargs: dict = {}

    def layer(self, **changes):
        return self.layer_class(**{**self.init_kwargs, **changes})

    def trained(self, **changes):
        """A layer whose weights have all left their starting values."""
        layer = self.layer(**changes)
        layer.build(*(x.shape for x in self.inputs()))
        return self.moved(layer)

    def moved(self, layer):
        draw = np.random.default_rng(7).normal
        for w in layer.weights:
            if w.dtype.startswith(("float", "bfloat")):
                w.assign(to_numpy(w) + 0.3 * draw(size=w.shape))
        return layer

    def named(self, layer):
        return {w.name: to_numpy(w).astype("float64") for w in layer.weights}

    def run(self, layer, *inputs, **kwargs):
        out = layer(*inputs, return_attention_scores=True, **kwargs)
        return [to_numpy(x) for x in out]

    def weights_of(self, layer):
        return [to_numpy(w) for w in layer.trainable_weights]

    def check_config(self, layer):
        """It holds every argument, those of Keras too, and makes it again.

        Before Python 3.11.5, a class without a constructor of its own shows
        the signature of Keras' `__new__`.
        """
        config = layer.get_config()
        known = inspect.signature(self.layer_class.__init__).parameters
        names = {x.name for x in known.values() if x.kind is not x.VAR_KEYWORD}
        assert names - {"self"} | {"name", "dtype", "trainable"} <= set(config)
        again = self.layer_class.from_config(json.loads(json.dumps(config)))
        assert again.get_config() == config
        return config

    @pytest.mark.parametrize(
        "policy", some([*POLICIES[:1], "float64", "float16", *POLICIES[1:]], 2)
    )
    def test_dtype_policy(self, policy):
        layer = self.layer(dtype=policy)
        for x in layer(*self.inputs(), return_attention_scores=True):
            dtype = keras.backend.standardize_dtype(x.dtype)
            assert dtype == layer.compute_dtype
        for w in layer.weights:
            assert w.dtype == layer.variable_dtype


class AttentionCase(LayerCase):
    """Set `layer_class`, and write one of the four references.

    Everything a test compares is NumPy: `run` does the conversion, so no test
    ever touches a backend tensor. A layer whose query and key must agree in
    size sets the three sizes to one number. A layer whose score is not one of
    pairs of vectors overrides `reference_scores`; one whose weights are not
    the softmax of scores `reference_align`; one whose scores depend on earlier
    weights, or that has none, `reference_weights`.
    """

    query_size = 3
    value_size = 5  # that of the key too, where there is no other
    key_size = 6  # of a key that is given
    dense = True  # whether every real position gets a weight above 0

    def reference_score(self, query, key, weights):
        """The paper's formula for one pair of vectors, in plain NumPy."""
        raise NotImplementedError

    def reference_scores(self, query, key, weights):
        """Scores of one sentence, `(Tq, Tv)`."""
        return np.array(
            [[self.reference_score(q, k, weights) for k in key] for q in query]
        )

    def reference_align(self, scores, mask, real, query, weights):
        """Weights of one sentence from its scores: softmax."""
        e = np.exp(scores - scores.max(-1, keepdims=True)) * mask
        return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)

    def reference_weights(self, query, key, mask, real, weights):
        """Weights of one sentence, `(Tq, Tv)`.

        Args:
            query: `(Tq, Dq)`.
            key: `(Tv, Dk)`.
            mask: `(Tq, Tv)`, `True` where a query sees a real position.
            real: `(Tv,)`, `True` at real positions.
            weights: The layer's own, by name.
        """
        scores = self.reference_scores(query, key, weights)
        return self.reference_align(scores, mask, real, query, weights)

    def reference(
        self,
        layer,
        query,
        value,
        key=None,
        value_mask=None,
        attention_mask=None,
    ):
        """Context and weights of a batch."""
        named = self.named(layer)
        key = value if key is None else key
        query, key, value = (x.astype("float64") for x in (query, key, value))
        real = np.ones(value.shape[:2], bool)
        real = real if value_mask is None else real & value_mask
        shape = (*query.shape[:2], value.shape[1])
        mask = np.broadcast_to(real[:, None], shape)
        mask = mask if attention_mask is None else mask & attention_mask
        sentences = zip(query, key, mask, real, strict=True)
        weights = np.stack(
            [self.reference_weights(*one, named) for one in sentences]
        )
        return weights @ value, weights

    def inputs(self, batch=2, steps=3, words=5, dtype="float32"):
        """Query and value."""
        draw = np.random.default_rng(0).normal
        query = draw(size=(batch, steps, self.query_size))
        value = draw(size=(batch, words, self.value_size))
        return query.astype(dtype), value.astype(dtype)

    def key(self, batch=2, words=5, dtype="float32"):
        """A key of a size of its own, for the `value` of `inputs`."""
        draw = np.random.default_rng(1).normal
        return draw(size=(batch, words, self.key_size)).astype(dtype)

    def run_step(self, layer, query, memory, state=None, **kwargs):
        if state is None:
            state = layer.initial_state(memory, beams=query.shape[1])
        context, weights, state = layer.step(query, memory, state, **kwargs)
        return to_numpy(context), to_numpy(weights), state

    def run_steps(self, layer, query, memory):
        """One query after the other, as a decoder does."""
        state, every = layer.initial_state(memory), []
        for t in range(query.shape[1]):
            one = query[:, t : t + 1]
            *given, state = self.run_step(layer, one, memory, state)
            every.append(given)
        return [np.concatenate(x, axis=1) for x in zip(*every, strict=True)]

    def loss(self, layer, first=0, **kwargs):
        """A number that depends on all of the context and the weights.

        Args:
            layer: A built layer.
            first: The first position whose weights count.
            **kwargs: Arguments of its call, such as masks.

        Returns:
            A function of a query, a value and the layer's trainable weights.
        """

        def number(x):
            x = widen(x)
            rows = ops.cast(ops.arange(ops.shape(x)[1]), x.dtype)
            columns = ops.cast(ops.arange(ops.shape(x)[2]), x.dtype)
            angles = ops.expand_dims(1 + rows, 1) * (1 + columns)
            return ops.sum(x * ops.cos(angles))

        def function(query, value, *weights):
            mapping = zip(layer.trainable_weights, weights, strict=True)
            with keras.StatelessScope(state_mapping=list(mapping)):
                out = layer(
                    query, value, return_attention_scores=True, **kwargs
                )
                return number(out[0]) + number(out[1][:, :, first:])

        return function

    def gradients(self, layer, query, value, first=0, **kwargs):
        """Gradients of `loss`: of query, of value, and a list of the rest."""
        found = gradients(
            self.loss(layer, first, **kwargs),
            [query, value, *self.weights_of(layer)],
        )
        return found[0], found[1], found[2:]
