"""What all attention layers do; only the score differs between them."""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_attention.checks import check_built
from keras_attention.checks import check_rate
from keras_attention.ops import get_alignment
from keras_attention.ops import keep_real

BUILD = "Call it once, or `layer.build(query_shape, value_shape)`."


class Memory(NamedTuple):
    """What a query attends to, computed once per source sequence.

    Attributes:
        keys: What queries are scored against, `(B, Tv, Dk)`, as the layer
            that prepared them projects them.
        values: What the weights average, `(B, Tv, Dv)`.
        mask: Boolean `(B, Tv)`, `True` at real positions, or `None`.
    """

    keys: Any
    values: Any
    mask: Any = None


class AbstractAttention(keras.layers.Layer):
    """Scores queries against keys, and averages the values by the weights.

    Formula:
        weights = alignment(score(query, keys))
        context = weights @ values

    A subclass writes `score`, and `project_keys` when its keys are not the
    inputs themselves. Apart from the Keras trio `__init__`, `build` and
    `get_config` it overrides little else, and nobody subclasses it.

    A decoder calls `prepare` once per sequence and `step` once per word, so
    that keys are never projected twice. A beam search passes its beams as
    `Tq`: they share one memory, and nothing is tiled. Nothing random is drawn
    in a step: `draw_noise` does it before the loop. Weights are read at their
    full precision and cast where they are used, so that `prepare` and `step`
    do the same inside and outside of another layer.

    Args:
        alignment: How scores become weights. Defaults to `"softmax"`.
        dropout: Rate in `[0, 1)` at which weights are dropped, and the rest
            scaled up, in training. The weights that are returned are those
            before. Defaults to `0.0`.
        seed: Integer seed of the dropout. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        query: `(B, Tq, Dq)`.
        value: `(B, Tv, Dv)`.
        key: `(B, Tv, Dk)`. Defaults to `value`.
        query_mask: Boolean `(B, Tq)`. It is only passed on.
        value_mask: Boolean `(B, Tv)`, `True` at real positions. Keras fills it
            in when `value` carries a mask.
        attention_mask: Boolean, broadcasts to `(B, Tq, Tv)`: `True` where a
            query may see a position.
        return_attention_scores: Whether to return the weights as well.
        training: Whether to drop weights.
        use_causal_mask: Whether query `i` sees only positions `j <= i`.

    Returns:
        context: `(B, Tq, Dv)`.
        weights: `(B, Tq, Tv)`, on request. A row sums to 1, or to 0 where
            every position is masked.

    Raises:
        ValueError: If `dropout` is not in `[0, 1)`, or there is no such
            `alignment`; in `prepare` and `step`, if the layer is not built.
    """

    state_count = 0  # how many tensors `initial_state` holds

    def __init__(
        self,
        alignment: str = "softmax",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_rate("dropout", dropout)
        self.alignment = alignment
        self._align = get_alignment(alignment)
        self.dropout = dropout
        self.seed = seed
        if dropout:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, query_shape, value_shape, key_shape=None):
        pass

    def project_keys(self, key):
        return key

    def score(self, query, keys):
        raise NotImplementedError(
            f"{type(self).__name__} must define `score(query, keys)`, from "
            "(B, Tq, Dq) and projected keys to scores (B, Tq, Tv)."
        )

    def prepare(self, value, key=None, value_mask=None):
        check_built(self, "prepare", BUILD)
        mask = self._boolean(value_mask)
        value = keep_real(self._float(value), mask)
        key = value if key is None else keep_real(self._float(key), mask)
        keys = ops.cast(self.project_keys(key), self.compute_dtype)
        return Memory(keys, value, mask)

    def initial_state(self, memory, beams=1):
        return ()

    def draw_noise(self, memory, steps, beams=1):
        if not self.dropout:
            return None
        batch, words = ops.shape(memory[1])[:2]
        ones = ops.ones((steps, batch, beams, words), self.compute_dtype)
        return keras.random.dropout(
            ones, self.dropout, seed=self.seed_generator
        )

    def step(self, query, memory, state=(), noise=None):
        check_built(self, "step", BUILD)
        keys, values, mask = Memory(*memory)
        memory = Memory(self._float(keys), self._float(values))
        if mask is not None:
            mask = ops.expand_dims(self._boolean(mask), 1)  # (B, 1, Tv)
        context, weights = self._attend(query, memory, mask, noise)
        return context, weights, state

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        memory = self.prepare(value, key, value_mask)
        queries, words = ops.shape(query)[1], ops.shape(value)[1]
        masks = [self._boolean(attention_mask)]
        if memory.mask is not None:
            masks.append(ops.expand_dims(memory.mask, 1))  # (B, 1, Tv)
        if use_causal_mask:
            masks.append(
                ops.expand_dims(ops.arange(queries), 1) >= ops.arange(words)
            )
        mask = None
        for other in masks:
            mask = other if mask is None else ops.logical_and(mask, other)
        noise = self.draw_noise(memory, 1, queries) if training else None
        noise = None if noise is None else noise[0]
        context, weights = self._attend(query, memory, mask, noise)
        return (context, weights) if return_attention_scores else context

    def _attend(self, query, memory, mask, noise):
        scores = self.score(self._float(query), memory.keys)
        weights = ops.cast(self._align(scores, mask), self.compute_dtype)
        kept = weights if noise is None else weights * noise
        return kept @ memory.values, weights

    def _float(self, x):
        return ops.cast(ops.convert_to_tensor(x), self.compute_dtype)

    def _boolean(self, mask):
        return None if mask is None else ops.cast(mask, "bool")

    def compute_output_spec(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        def spec(size):
            shape = (*query.shape[:-1], size)
            return keras.KerasTensor(shape, dtype=self.compute_dtype)

        context, weights = spec(value.shape[-1]), spec(value.shape[1])
        return (context, weights) if return_attention_scores else context

    def compute_mask(self, query, previous_mask=None):
        return previous_mask

    def get_config(self):
        own = {
            "alignment": self.alignment,
            "dropout": self.dropout,
            "seed": self.seed,
        }
        return {**super().get_config(), **own}
