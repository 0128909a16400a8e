"""Chunkwise attention: softmax over the few positions before a stop."""

import math

import keras

from keras_attention.alignments import HardReading
from keras_attention.alignments import Monotonic
from keras_attention.attention.base import AbstractAttention
from keras_attention.attention.memory import Memory
from keras_attention.backend import ops
from keras_attention.checks import check_absent
from keras_attention.checks import check_integer
from keras_attention.checks import check_object
from keras_attention.layers import symbolic_result
from keras_attention.ops import hoist
from keras_attention.ops import widen
from keras_attention.ops.monotonic import spread_over_chunks
from keras_attention.ops.rows import reshaped

MONOTONIC = "Try BahdanauAttention(64, True, alignment=Monotonic())."
CHUNK = "Try BahdanauAttention(64)."


@keras.saving.register_keras_serializable(package="keras_attention")
class ChunkwiseAttention(AbstractAttention):
    """Attends to a chunk of positions that ends at a monotonic stop.

    Formula:

        a = weights of `monotonic`
        b[j] = sum_{k=j}^{j+w-1} a[k] exp(u[j]) / sum_{l=k-w+1}^{k} exp(u[l])

    This is monotonic chunkwise attention (MoChA): `monotonic` moves to the
    right and stops at a position `k`; `chunk`, with the scores `u`, attends to
    the `w` positions that end at `k`. If the alignment of `monotonic` has a
    soft mode, the weights `b` are expected values over all positions `k`. In
    the mode `"hard"`, for inference, the weights are a softmax over one chunk,
    and do not depend on the source after this chunk. At the edges of the
    source, chunks are shorter; padding is ignored. With a `chunk_size` of 1,
    the weights equal those of `monotonic`.

    If the layers keep a state, `monotonic` updates its state with `a`, and
    `chunk` updates its state with `b`. The auxiliary losses of both layers are
    computed from `b`.

    Args:
        monotonic: An attention layer with `alignment=Monotonic(...)`. The layer
            is copied without its weights, and computes in the dtype of this
            layer.
        chunk: An attention layer with the alignment `"softmax"`; only its
            scores are used. It is copied in the same way.
        chunk_size: Number `w` of positions in a chunk, positive.
        dropout: Rate at which attention weights are dropped in training.
            Defaults to `0.0`.
        seed: Integer random seed for dropout and for the noise of `monotonic`.
            Defaults to `None`, the seed of `monotonic`.
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Shapes:
        query `(B, Tq, Dq)`, value `(B, Tv, Dv)`, key `(B, Tv, Dk)` ->
        context `(B, Tq, Dv)`; the rest as in `AbstractAttention`.

    Raises:
        ValueError: If `monotonic` or `chunk` is not an attention layer with the
            required alignment, if either has its own dropout, or if
            `chunk_size` is not positive.

    Example:

    >>> attention = ChunkwiseAttention(
    ...     BahdanauAttention(16, True, alignment=Monotonic()),
    ...     BahdanauAttention(16),
    ...     chunk_size=3,
    ... )
    >>> context = attention(np.ones((2, 3, 8)), np.ones((2, 7, 12)))
    >>> tuple(context.shape)
    (2, 3, 12)

    Reference:
        [Chiu and Raffel, 2018](https://arxiv.org/abs/1712.05382), eq. 23;
        algorithm 1 in the mode `"hard"`.
    """

    def __init__(
        self,
        monotonic: AbstractAttention,
        chunk: AbstractAttention,
        chunk_size: int,
        *,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs,
    ):
        _check_monotonic(monotonic)
        _check_chunk(chunk)
        _check_no_dropout(monotonic=monotonic, chunk=chunk)
        check_absent(
            "alignment",
            kwargs,
            self,
            "its attentions have their own alignments",
        )
        super().__init__(
            alignment=None,
            dropout=dropout,
            seed=monotonic.seed if seed is None else seed,
            **kwargs,
        )
        self.chunk_size = check_integer("chunk_size", chunk_size)
        self.monotonic = self._copy(monotonic, "monotonic")
        self.chunk = self._copy(chunk, "chunk")
        self.aligner = self.monotonic.aligner  # whose noise is drawn
        if self.noisy and not self.dropout:
            self.seed_generator = keras.random.SeedGenerator(self.seed)

    @property
    def state_count(self) -> int:
        """Number of tensors that `initial_state` returns."""
        return self.monotonic.state_count + int(self.chunk.remembers)

    def build(self, query_shape, value_shape, key_shape=None):
        features = (key_shape or value_shape)[-1]
        key = keras.KerasTensor((None, None, features), self.compute_dtype)
        self.key_shapes = []  # of the projections of one key
        for layer in (self.monotonic, self.chunk):
            layer.build(query_shape, value_shape, key_shape)
            keys = symbolic_result(layer.project_keys, key)
            self.key_shapes.append(tuple(keys.shape[2:]))

    def project_keys(self, key):
        layers = self.monotonic, self.chunk
        keys = [layer.project_keys(key) for layer in layers]
        keys = [_flat(ops.cast(x, self.compute_dtype)) for x in keys]
        return ops.concatenate(keys, axis=-1)

    def _keys_of_monotonic(self, keys):
        shape, _ = self.key_shapes
        return _unflat(keys[..., : math.prod(shape)], shape)

    def _keys_of_chunk(self, keys):
        first, shape = self.key_shapes
        return _unflat(keys[..., math.prod(first) :], shape)

    def first_state(self, real) -> tuple:
        state = self.monotonic.first_state(real)
        if self.chunk.remembers:
            state = (*state, self.chunk.first_history(real))
        return state

    def weigh(self, query, memory, mask, state, noise) -> tuple:
        count = self.monotonic.state_count
        keys = hoist(self._keys_of_monotonic, memory.keys)
        ends, moved = self.monotonic.weigh(
            query, Memory(keys, *memory[1:]), mask, state[:count], noise
        )
        keys = hoist(self._keys_of_chunk, memory.keys)
        projected = self.chunk.project_query(query)
        keys, mask = self.chunk.reach(Memory(keys, *memory[1:]), mask)
        scores = widen(self.chunk.score(projected, keys, *state[count:]))
        weights = spread_over_chunks(ends, scores, self.chunk_size, mask)
        rest = [self.chunk.next_history(x, weights) for x in state[count:]]
        return weights, (*moved, *rest)

    def reading(self) -> HardReading:
        """Return how to read a source that arrives in parts: as `monotonic`.

        Returns:
            A `HardReading` that keeps the chunk before the current position.

        Raises:
            ValueError: If `monotonic` is soft, or if a score depends on the
                whole source.
        """
        reading = self.monotonic.reading()
        self.chunk.check_scores_in_part()
        before = reading.before + self.chunk_size - 1
        return HardReading(before, reading.strict)

    def auxiliary_loss(self, weights, query_mask=None):
        layers = self.monotonic, self.chunk
        losses = [x.auxiliary_loss(weights, query_mask) for x in layers]
        losses = [loss for loss in losses if loss is not None]
        return sum(losses) if losses else None


def _check_monotonic(attention):
    check_object("monotonic", attention, AbstractAttention, MONOTONIC)
    if not isinstance(attention.alignment, Monotonic):
        raise ValueError(
            "`monotonic` must be an attention with alignment=Monotonic(...). "
            f"Received: alignment={attention.alignment!r}. {MONOTONIC}"
        )


def _check_chunk(attention):
    check_object("chunk", attention, AbstractAttention, CHUNK)
    if getattr(attention.aligner, "mapping", None) != "softmax":
        raise ValueError(
            "`chunk` must be an attention layer with alignment='softmax'. "
            f"Received: chunk={attention!r} with "
            f"alignment={attention.alignment!r}. {CHUNK}"
        )


def _check_no_dropout(**attentions):
    for name, attention in attentions.items():
        if attention.dropout:
            raise ValueError(
                f"`{name}` must not have its own dropout, because weights are "
                f"dropped only once. Received: {name} with "
                f"dropout={attention.dropout}. Pass `dropout` to "
                "ChunkwiseAttention."
            )


def _flat(keys):
    """Flatten the features of keys to one axis: `(B, Tv, N)`."""
    if len(keys.shape) == 3:
        return keys
    size = math.prod(keys.shape[2:])
    return reshaped(keys, (*ops.shape(keys)[:2], size))


def _unflat(keys, shape):
    """Restore the shape of the features of keys `(B, Tv, N)`."""
    if len(shape) == 1:
        return keys
    return reshaped(keys, (*ops.shape(keys)[:2], *shape))
