"""What all attention layers with scores do; only the score differs."""

import keras
from keras import ops

from keras_attention.alignments import as_alignment
from keras_attention.attention.memory import AbstractMemoryAttention
from keras_attention.ops import widen


class AbstractAttention(AbstractMemoryAttention):
    """Scores queries against keys, and makes weights of the scores.

    Formula:

        weights = alignment(score(query, keys))
        context = weights @ values

    A subclass writes `score`, and `project_keys` when its keys are not the
    inputs themselves. Apart from the Keras trio `__init__`, `build` (which
    calls `super().build`) and `get_config` it overrides little else, and
    nobody subclasses it.

    A score that depends on earlier weights sets `remembers`, takes what it
    remembers as a third argument, `score(query, keys, history)`, and writes
    `first_history(real)`, before the first step, and `next_history(history,
    weights)`, after each: one tensor, `(B, K, ...)`.

    Args:
        alignment: How scores become weights: `"softmax"`, `"sparsemax"`,
            `"entmax15"`, an object such as `Monotonic()`, of which the layer
            keeps a copy, or the config of one. Defaults to `"softmax"`.
        **kwargs: Arguments of `AbstractMemoryAttention`.

    Raises:
        ValueError: If there is no such `alignment`.
    """

    remembers = False  # whether scores depend on earlier weights

    def __init__(self, alignment="softmax", **kwargs):
        super().__init__(**kwargs)
        self.aligner = as_alignment(alignment)
        self.aligner.dtype_policy = self.dtype_policy
        named = isinstance(alignment, str)
        self.alignment = alignment if named else self.aligner
        if self.noisy and not self.dropout:
            self.seed_generator = keras.random.SeedGenerator(self.seed)

    @property
    def state_count(self) -> int:
        """How many tensors `initial_state` holds."""
        return int(self.remembers) + self.aligner.state_count

    @property
    def noisy(self) -> bool:
        """Whether the alignment needs noise in training."""
        return self.aligner.noisy

    def build(self, query_shape, value_shape, key_shape=None):
        self.aligner.build(query_shape, value_shape)

    def score(self, query, keys):
        raise NotImplementedError(
            f"{type(self).__name__} must define `score(query, keys)`, from "
            "(B, Tq, Dq) and projected keys to scores (B, Tq, Tv)."
        )

    def first_state(self, real):
        history = [self.first_history(real)] if self.remembers else []
        return (*history, *self.aligner.first_state(real))

    def draw_noise(self, memory, steps, beams=1):
        dropped = super().draw_noise(memory, steps, beams)
        if not self.noisy:
            return dropped
        batch, words = ops.shape(memory[1])[:2]
        drawn = self.aligner.draw_noise(
            (steps, batch, beams, words),
            self.compute_dtype,
            self.seed_generator,
        )
        if dropped is None:
            return drawn
        return ops.concatenate([dropped, drawn], axis=-1)

    def weigh(self, query, memory, mask, state, noise):
        count = int(self.remembers)
        history, rest = state[:count], state[count:]
        scores = widen(self.score(query, memory.keys, *history))
        weights, rest = self.aligner.align(
            scores, mask, rest, noise, query, self._lengths(memory, scores)
        )
        history = [self.next_history(x, weights) for x in history]
        return weights, (*history, *rest)

    def _lengths(self, memory, scores):
        """Count the real positions of every source: `(B, 1, 1)`."""
        if memory.mask is None:
            words = ops.cast(ops.shape(memory.values)[1], scores.dtype)
            return words * ops.ones_like(scores[:, :1, :1])
        real = ops.cast(memory.mask, scores.dtype)
        return ops.expand_dims(ops.sum(real, axis=1, keepdims=True), 2)

    def get_config(self):
        alignment = self.alignment
        if not isinstance(alignment, str):
            alignment = keras.saving.serialize_keras_object(alignment)
        return {**super().get_config(), "alignment": alignment}
