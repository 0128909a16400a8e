"""The attentions of a decoder: none, one or several, asked as one."""

from collections.abc import Iterator

import keras
from keras import ops

from keras_attention.attention import AbstractAttention
from keras_attention.attention import Memory
from keras_attention.checks import check_object
from keras_attention.decoder.beams import BeamAxis
from keras_attention.layers import symbolic_result
from keras_attention.ops import wide_dtype


class Attentions:
    """Asks every attention of a decoder cell at the same source.

    Args:
        attention: An attention layer, a list of them, or `None` for none.

    Raises:
        ValueError: If one of them is not an attention layer.
    """

    def __init__(self, attention):
        if attention is None:
            attention = []
        several = isinstance(attention, list | tuple)
        self.layers = list(attention) if several else [attention]
        for layer in self.layers:
            check_object(
                "attention",
                layer,
                AbstractAttention,
                "Pass an attention layer such as BahdanauAttention(64), a "
                "list of them, or None for a decoder without attention.",
            )

    def __iter__(self) -> Iterator[AbstractAttention]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index):
        return self.layers[index]

    @property
    def state_count(self) -> int:
        """How many states they have together."""
        return sum(layer.state_count for layer in self.layers)

    def pack(self, entries: list):
        """Return one entry a layer as the user sees it: bare if there is one.

        Args:
            entries: A list with one entry for each layer.
        """
        return (entries or [None])[0] if len(entries) < 2 else entries

    def unpack(self, entries) -> list:
        """List what belongs to each layer, whatever form it has."""
        if len(self.layers) == 1:
            return [entries]
        return [None] * len(self) if entries is None else list(entries)

    def check_memory(self, memory):
        """Raise a `ValueError` if there is attention, but no memory."""
        if self.layers and memory is None:
            raise ValueError(
                "A decoder with attention needs the source's memory. Received: "
                "memory=None. Pass the encoder's output sequence."
            )

    def build(self, query_size: int, memory_shape):
        """Build every layer for queries of a size and a memory's shape."""
        self.check_memory(memory_shape)
        for layer in self.layers:
            if not layer.built:
                layer.build((None, None, query_size), memory_shape)

    def prepare(self, value, value_mask=None):
        """Prepare one source `(B, Tv, Dv)` for every layer."""
        self.check_memory(value)
        return self.pack(
            [layer.prepare(value, value_mask=value_mask) for layer in self]
        )

    def as_memories(self, memory) -> list[Memory]:
        """List the memory of each layer."""
        self.check_memory(memory)
        if not self.layers:
            return []
        return [Memory(*one) for one in self.unpack(memory)]

    def initial_states(self, memories: list[Memory], beams=None) -> list:
        """List the states of all layers before the first step."""
        axis, states = BeamAxis(beams), []
        for layer, memory in zip(self, memories, strict=True):
            found = layer.initial_state(memory, beams=beams or 1)
            states.extend(axis.from_queries(x) for x in found)
        return states

    def state_specs(self, memory: keras.KerasTensor) -> list:
        """Return shapes and dtypes of `initial_states`, without beams.

        Args:
            memory: Symbolic `(B, Tv, Dv)`.
        """
        specs = []
        for layer in self:
            if layer.state_count:
                dtype = wide_dtype(layer.compute_dtype)
                shape = (memory.shape[0], 1, memory.shape[1])
                real = keras.KerasTensor(shape, dtype=dtype)
                specs.extend(symbolic_result(layer.first_state, real))
        return [
            keras.KerasTensor((x.shape[0], *x.shape[2:]), dtype=x.dtype)
            for x in specs
        ]

    def draw_noise(self, memories: list[Memory], steps, beams=None):
        """Draw everything random that all steps of every layer need."""
        noises = []
        for layer, memory in zip(self, memories, strict=True):
            noise = layer.draw_noise(memory, steps, beams=beams or 1)
            if noise is not None and beams is None:
                noise = ops.squeeze(noise, axis=2)  # after time and batch
            noises.append(noise)
        return self.pack(noises)

    def attend(self, query, memories, states, noise=None, one_by_one=False):
        """Ask every layer.

        Args:
            query: `(B, Dq)`, or `(B, K, Dq)`.
            memories: The memory of each layer.
            states: Flat list of the states of all, with an axis `K` like
                `query`.
            noise: One step's slice of what `draw_noise` gave, or `None`.
            one_by_one: As in `AbstractAttention.step`.

        Returns:
            Lists of the contexts `(B, Dv)` and weights `(B, Tv)`, with an
            axis `K` like `query`, and the next states.
        """
        axis = BeamAxis.of(query)
        query, left = axis.as_queries(query), list(states)
        contexts, weights, after = [], [], []
        for layer, memory, drawn in zip(
            self, memories, self.unpack(noise), strict=True
        ):
            own, left = left[: layer.state_count], left[layer.state_count :]
            own = tuple(axis.as_queries(x) for x in own)
            options = {"one_by_one": True} if one_by_one else {}
            context, weight, own = layer.step(
                query, memory, own, axis.as_queries(drawn), **options
            )
            contexts.append(axis.from_queries(context))
            weights.append(axis.from_queries(weight))
            after.extend(axis.from_queries(x) for x in own)
        return contexts, weights, after
