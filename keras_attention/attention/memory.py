"""What attention layers do with a memory, however they weigh it."""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_attention.checks import check_built
from keras_attention.checks import check_rate
from keras_attention.ops import join_masks
from keras_attention.ops import keep_real
from keras_attention.ops import loop_over_time
from keras_attention.ops import mix
from keras_attention.ops import one_by_one
from keras_attention.ops import wide_dtype

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


class _Traced(keras.Operation):
    """Tells what a function gives, from shapes and dtypes alone."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, x):
        return self.function(x)


class AbstractMemoryAttention(keras.layers.Layer):
    """Averages the values of a memory by weights that depend on a query.

    Formula:

        context = weights @ values

    A subclass writes `weigh(query, memory, mask, state, noise)`, which gives
    the weights, in float32 or wider, and the next state, and `project_keys`
    when its keys are not the inputs themselves. With a state it also says
    `state_count` and writes `first_state`. What weights cost, if anything, is
    `weights_loss`, which a decoder adds as the call does.

    A decoder calls `prepare` once per sequence and `step` once per word, so
    that keys are never projected twice. A beam search passes its beams as
    `Tq`: they share one memory, and nothing is tiled. In `call` that axis is
    time, and a layer with a state runs its steps in order. Nothing random is
    drawn in a step: `draw_noise` does it before the loop. Weights are read at
    their full precision and cast where they are used, so that `prepare` and
    `step` do the same inside and outside of another layer.

    Args:
        dropout: Rate in `[0, 1)` at which weights are dropped, and the rest
            scaled up, in training. The weights that are returned are those
            before. Defaults to `0.0`.
        seed: Integer seed of all that is drawn. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Call arguments:
        query: `(B, Tq, Dq)`.
        value: `(B, Tv, Dv)`.
        key: `(B, Tv, Dk)`. Defaults to `value`.
        query_mask: Boolean `(B, Tq)`, `True` at real steps. It is passed on,
            and only `weights_loss` looks at it.
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
        ValueError: If `dropout` is not in `[0, 1)`; in `prepare` and `step`,
            if the layer is not built.
    """

    state_count = 0  # how many tensors `initial_state` holds
    noisy = False  # whether `weigh` needs noise

    def __init__(self, dropout: float = 0.0, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        check_rate("dropout", dropout)
        self.dropout = dropout
        self.seed = seed
        if dropout:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, query_shape, value_shape, key_shape=None):
        pass

    def project_keys(self, key):
        return key

    def first_state(self, real):
        """Give the state before the first step, a tuple of `(B, K, ...)`.

        Args:
            real: `(B, K, Tv)`, 1.0 at real positions, 0.0 at padding.
        """
        return ()

    def weigh(self, query, memory, mask, state, noise):
        raise NotImplementedError(
            f"{type(self).__name__} must define `weigh(query, memory, mask, "
            "state, noise)`, to weights (B, Tq, Tv) and the next state."
        )

    def weights_loss(self, weights, query_mask=None):
        """Tell what the weights of all steps cost in training, or `None`.

        Args:
            weights: `(B, Tq, Tv)`.
            query_mask: Boolean `(B, Tq)`, `True` at real steps, or `None`.
        """
        return None

    def prepare(self, value, key=None, value_mask=None):
        check_built(self, "prepare", BUILD)
        mask = self._boolean(value_mask)
        value = keep_real(self._float(value), mask)
        key = value if key is None else keep_real(self._float(key), mask)
        keys = ops.cast(self.project_keys(key), self.compute_dtype)
        return Memory(keys, value, mask)

    def initial_state(self, memory, beams=1):
        _, values, mask = Memory(*memory)
        batch, words = ops.shape(values)[:2]
        real = ops.ones((batch, beams, words), self._state_dtype)
        if mask is not None:
            mask = ops.expand_dims(self._boolean(mask), 1)
            real = ops.where(mask, real, 0.0)
        return self.first_state(real)

    def state_spec(self, value):
        """Tell what `initial_state` gives, of a symbolic `(B, Tv, Dv)`."""
        batch, words = value.shape[:2]
        real = keras.KerasTensor((batch, 1, words), dtype=self._state_dtype)
        return _Traced(self.first_state).compute_output_spec(real)

    @property
    def _state_dtype(self):
        return wide_dtype(self.compute_dtype)

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
        mask = self._boolean(mask)
        memory = Memory(self._float(keys), self._float(values), mask)
        if mask is not None:
            mask = ops.expand_dims(mask, 1)  # (B, 1, Tv)
        return self._attend(query, memory, mask, tuple(state), noise)

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
        mask = self._visible(query, memory, attention_mask, use_causal_mask)
        queries = ops.shape(query)[1]
        if self.state_count:
            noise = self.draw_noise(memory, queries) if training else None
            context, weights = self._in_order(query, memory, mask, noise)
        else:
            noise = self.draw_noise(memory, 1, queries) if training else None
            noise = None if noise is None else noise[0]
            with one_by_one(training):
                context, weights, _ = self._attend(
                    query, memory, mask, (), noise
                )
        loss = self.weights_loss(weights, query_mask)
        if loss is not None:
            self.add_loss(loss)
        return (context, weights) if return_attention_scores else context

    def _visible(self, query, memory, attention_mask, use_causal_mask):
        """Join all masks to one that broadcasts to `(B, Tq, Tv)`, or none."""
        real = causal = None
        if memory.mask is not None:
            real = ops.expand_dims(memory.mask, 1)  # (B, 1, Tv)
        if use_causal_mask:
            queries = ops.arange(ops.shape(query)[1])
            words = ops.arange(ops.shape(memory.values)[1])
            causal = ops.expand_dims(queries, 1) >= words
        return join_masks(self._boolean(attention_mask), real, causal)

    def _in_order(self, query, memory, mask, noise):
        """Attend step by step, with the state carried along."""
        query = ops.swapaxes(self._float(query), 0, 1)  # (Tq, B, Dq)
        steps, batch = ops.shape(query)[:2]
        words, features = ops.shape(memory.values)[1], memory.values.shape[2]
        if mask is not None:
            mask = ops.broadcast_to(mask, (batch, steps, words))
            mask = ops.swapaxes(mask, 0, 1)

        def step(state, inputs):
            one, visible, drawn = inputs
            if visible is not None:
                visible = ops.expand_dims(visible, 1)
            context, weights, state = self._attend(
                ops.expand_dims(one, 1), memory, visible, tuple(state), drawn
            )
            both = ops.concatenate([context, weights], axis=-1)
            return list(state), [ops.squeeze(both, axis=1)]

        # As one output: without words, TensorFlow could write no weights.
        blank = [ops.zeros((batch, features + words), self.compute_dtype)]
        state = self.initial_state(memory)
        inputs = [query, mask, noise]
        _, (both,) = loop_over_time(step, state, inputs, blank, steps)
        both = ops.swapaxes(both, 0, 1)
        return both[..., :features], both[..., features:]

    def _attend(self, query, memory, mask, state, noise):
        dropped, drawn = self._part_noise(noise)
        weights, state = self.weigh(
            self._float(query), memory, mask, state, drawn
        )
        weights = ops.cast(weights, self.compute_dtype)
        kept = weights if dropped is None else weights * dropped
        return mix(kept, memory.values), weights, state

    def _part_noise(self, noise):
        """Part one step's noise: dropout, and what `weigh` needs."""
        if noise is None or not self.noisy:
            return noise, None
        if not self.dropout:
            return None, noise
        return ops.split(noise, 2, axis=-1)

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
        own = {"dropout": self.dropout, "seed": self.seed}
        return {**super().get_config(), **own}
