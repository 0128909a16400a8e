"""The attentions of a decoder, as one list of layers."""

from collections.abc import Sequence

import keras

from keras_attention.attention import AbstractAttention
from keras_attention.attention import Memory
from keras_attention.attention.memory import check_sequence
from keras_attention.attention.memory import real_positions
from keras_attention.attention.memory import with_features
from keras_attention.backend import ops
from keras_attention.checks import check_object
from keras_attention.checks import check_shape
from keras_attention.decoder.window import AttentionWindow
from keras_attention.layers import symbolic_result
from keras_attention.ops import first_position
from keras_attention.ops import wide_dtype
from keras_attention.ops.replicas import add_shared_loss

LAYERS = (
    "Pass an attention layer such as BahdanauAttention(64), a list of them, or "
    "None for a decoder without attention."
)


class Attentions(Sequence):
    """Runs all attentions of a decoder cell on the same source.

    Methods take and return lists with one entry for each layer. Only `pack`,
    `unpack` and `as_memories` handle the public form: `None` without a layer,
    the entry itself for one layer, and a list for several layers.

    Args:
        attention: An attention layer, a list of them, or `None` for none.
        window: The positions that a step attends to in inference, or `None` for
            all. Defaults to `None`.

    Raises:
        ValueError: If one of them is not an attention layer.
    """

    def __init__(self, attention, window: AttentionWindow | None = None):
        self.window, self.memory_size = window, None
        if attention is None:
            attention = []
        elif isinstance(attention, list | tuple) and not attention:
            raise ValueError(
                "`attention` must contain at least one layer. Received: "
                f"attention={attention!r}. For a decoder without attention, "
                "use attention=None."
            )
        several = isinstance(attention, list | tuple)
        self.layers = list(attention) if several else [attention]
        for layer in self.layers:
            check_object("attention", layer, AbstractAttention, LAYERS)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index):
        return self.layers[index]

    @property
    def state_count(self) -> int:
        """Number of states of all layers together."""
        return sum(self.count_states(layer) for layer in self.layers)

    def count_states(self, layer: AbstractAttention) -> int:
        """Return the number of states of a layer, including its position."""
        return layer.state_count + (self.window is not None)

    def pack(self, entries: list):
        """Convert a list with one entry per layer to the public form."""
        return (entries or [None])[0] if len(entries) < 2 else entries

    def unpack(self, entries) -> list:
        """Convert the public form to a list with one entry per layer."""
        if len(self.layers) == 1:
            return [entries]
        return [None] * len(self) if entries is None else list(entries)

    def as_memories(self, memory) -> list[Memory]:
        """Convert the public form of prepared sources to a list."""
        self.check_memory(memory)
        if not self.layers:
            return []
        return [Memory(*entry) for entry in self.unpack(memory)]

    def check_memory(self, memory):
        """Check that there is a memory if there is attention.

        Raises:
            ValueError: If `memory` is `None` and there is a layer.
        """
        if self.layers and memory is None:
            raise ValueError(
                "A decoder with attention needs `memory`. Received: "
                "memory=None. Pass the encoder's output sequence."
            )

    def check_asked(self, layer, return_attention_scores: bool):
        """Refuse to return weights in a functional model without attention.

        The weights would be `None`, but Keras accepts only tensors in such a
        model.

        Args:
            layer: The decoder, for the error.
            return_attention_scores: Whether weights are requested.

        Raises:
            ValueError: If weights are requested and there is no attention
                layer.
        """
        if return_attention_scores and not self.layers:
            raise ValueError(
                f"In a functional model, {type(layer).__name__} can return "
                "weights only if its cell has attention. Received: "
                "return_attention_scores=True with attention=None. Omit "
                "`return_attention_scores`."
            )

    def check_source(self, layer, memory, memory_mask, name: str, shape):
        """Check the memory of a decoder, with the caller's names in errors.

        Args:
            layer: The decoder, for the error.
            memory: The encoder's outputs, or `None`.
            memory_mask: Their mask, or `None`.
            name: Name of the decoder's inputs.
            shape: Their shape.

        Raises:
            ValueError: If there is attention and no memory, or if a shape does
                not match.
        """
        self.check_memory(memory)
        if not self.layers:
            return
        given = "memory", memory, "(B, Tv, Dv)", memory_mask
        source = check_sequence(layer, *given, size=self.memory_size)
        kind, rows = type(layer).__name__, (*shape[:1], *source[1:])
        needs = f"{kind} needs `{name}` and `memory` with the same batch size"
        check_shape(
            needs,
            "memory",
            source,
            rows,
            "Pass the same number of rows for both.",
        )

    def build(self, query_size: int, memory_shape) -> int:
        """Build every layer, and return the total size of all contexts.

        Args:
            query_size: Size of the queries.
            memory_shape: Shape of the memory, `(B, Tv, Dv)`.
        """
        self.check_memory(memory_shape)
        self.memory_size = memory_shape[-1] if self.layers else None
        query_shape, size = (None, None, query_size), 0
        for layer in self.layers:
            if not layer.built:
                layer.build(query_shape, memory_shape)
            size += layer.compute_output_shape(query_shape, memory_shape)[-1]
        return size

    def add_losses(self, layer: keras.layers.Layer, weights, mask=None):
        """Add the auxiliary losses of all attentions to a layer.

        Args:
            layer: The layer that runs them.
            weights: List of the weights of all steps, `(B, T, Tv)` each.
            mask: Boolean `(B, T)`, `True` at valid steps, or `None` for all.
        """
        for attention, every in zip(self, weights, strict=True):
            loss = attention.auxiliary_loss(every, mask)
            if loss is not None:
                add_shared_loss(layer, loss)

    def prepare(self, value, value_mask=None) -> list[Memory]:
        """Prepare a source for every layer.

        Args:
            value: `(B, Tv, Dv)`.
            value_mask: Boolean `(B, Tv)`, or `None`.
        """
        self.check_memory(value)
        if self.layers:
            first = self.layers[0]
            value = with_features(first, "value", value, self.memory_size)
        return [layer.prepare(value, value_mask=value_mask) for layer in self]

    def initial_states(
        self, memories: list[Memory], beams: int | None = None
    ) -> list:
        """Return the flat list of states of all layers before the first step.

        Args:
            memories: The memory of each layer.
            beams: The number `K` of hypotheses. Defaults to `None`, no such
                axis.

        Returns:
            List of tensors `(B, ...)`, or `(B, K, ...)` with beams.
        """
        states, count = [], beams or 1
        for layer, memory in zip(self, memories, strict=True):
            states.extend(layer.initial_state(memory, beams=count))
            if self.window is not None:
                dtype = wide_dtype(layer.compute_dtype)
                real = real_positions(memory, count, dtype)
                states.append(first_position(real))
        if beams is None:
            return [ops.squeeze(x, axis=1) for x in states]
        return states

    def state_specs(self, memory: keras.KerasTensor) -> list:
        """Return shapes and dtypes of `initial_states`, without beams.

        Args:
            memory: Symbolic memory `(B, Tv, Dv)`.

        Returns:
            List of `keras.KerasTensor`s `(B, ...)`.
        """

        def first(memory):
            return self.initial_states([Memory(memory, memory)] * len(self))

        return symbolic_result(first, memory) if self.state_count else []

    def draw_noise(
        self, memories: list[Memory], steps, beams: int | None = None
    ) -> list:
        """Draw the dropout masks and the noise of all training steps.

        Args:
            memories: The memory of each layer.
            steps: Number of steps, an integer or a scalar tensor.
            beams: The number `K` of hypotheses. Defaults to `None`, no such
                axis.

        Returns:
            For each layer a tensor `(T, B, ...)`, `(T, B, K, ...)` with
            beams, or `None`.
        """
        noise = [
            layer.draw_noise(memory, steps, beams=beams or 1)
            for layer, memory in zip(self, memories, strict=True)
        ]
        if beams is None:
            return [x if x is None else ops.squeeze(x, 2) for x in noise]
        return noise

    def attend(
        self,
        query,
        memories: list[Memory],
        states: list,
        noise: list,
        training: bool | None = None,
        one_by_one: bool = False,
    ) -> tuple:
        """Attend with every layer.

        Args:
            query: `(B, Dq)`, or `(B, K, Dq)`, one for each hypothesis.
            memories: The memory of each layer.
            states: Flat list of the states of all layers.
            noise: For each layer one step of what `draw_noise` returned, or
                `None`.
            training: Whether the step is one of training, which ignores the
                window.
            one_by_one: Argument of `AbstractAttention.step`.

        Returns:
            List of contexts `(B, Dv)`, list of weights `(B, Tv)`, and the flat
            list of the next states. All have an axis `K` after `B` if `query`
            has one.
        """
        alone = len(query.shape) == 2
        options = {"one_by_one": True} if one_by_one else {}

        def with_axis(x):
            return ops.expand_dims(x, 1) if alone and x is not None else x

        query, left = with_axis(query), [with_axis(x) for x in states]
        contexts, weights, after = [], [], []
        for layer, memory, drawn in zip(self, memories, noise, strict=True):
            count = self.count_states(layer)
            state, left = tuple(left[:count]), left[count:]
            given = query, memory, state, with_axis(drawn)
            if self.window is None:
                context, weight, state = layer.step(*given, **options)
            else:
                given = layer, *given, training
                context, weight, state = self.window.step(*given)
            contexts.append(context)
            weights.append(weight)
            after.extend(state)
        results = contexts, weights, after
        if alone:
            return tuple([ops.squeeze(x, 1) for x in part] for part in results)
        return results
