"""One query, asked of none, one or several attentions at the same source.

Attention layers keep parallel queries on axis 1. A decoder without beams has
no such axis: here it is put in and taken out again.
"""

import keras
from keras import ops

from keras_attention.attention.memory import Memory


def as_attentions(attention) -> list:
    """List the attentions of a decoder cell, none for `None`.

    Raises:
        ValueError: If one of them is not an attention layer.
    """
    if attention is None:
        return []
    several = isinstance(attention, list | tuple)
    attentions = list(attention) if several else [attention]
    for one in attentions:
        if not (hasattr(one, "prepare") and hasattr(one, "step")):
            raise ValueError(
                "`attention` must be an attention layer of this package, a "
                "list of them, or None for a decoder without attention. "
                f"Received: attention={one}"
            )
    return attentions


def pack(entries: list):
    """Give one entry a layer the form the user sees: bare if there is one."""
    return (entries or [None])[0] if len(entries) < 2 else entries


def unpack(attentions, entries) -> list:
    """List what belongs to each attention, whatever form it has."""
    if len(attentions) == 1:
        return [entries]
    return [None] * len(attentions) if entries is None else list(entries)


def check_memory(attentions, memory):
    """Raise a `ValueError` if there is something to attend with, but not to."""
    if attentions and memory is None:
        raise ValueError(
            "A decoder with attention needs the source's memory. Received: "
            "memory=None. Pass the encoder's output sequence."
        )


def as_memories(attentions, memory) -> list[Memory]:
    """List the memory of each attention.

    Raises:
        ValueError: If there is no memory.
    """
    check_memory(attentions, memory)
    if not attentions:
        return []
    return [Memory(*one) for one in unpack(attentions, memory)]


def prepare(attentions, value, value_mask=None):
    """Prepare one source for every attention."""
    check_memory(attentions, value)
    return pack([a.prepare(value, value_mask=value_mask) for a in attentions])


def initial_states(attentions, memories, beams=None) -> list:
    """List the states of all attentions before the first step."""
    states = []
    for attention, memory in zip(attentions, memories, strict=True):
        states.extend(attention.initial_state(memory, beams=beams or 1))
    return states if beams else [ops.squeeze(x, axis=1) for x in states]


def state_specs(attentions, memory) -> list:
    """Tell shapes and dtypes of what `initial_states` gives, without beams.

    Args:
        attentions: The layers.
        memory: Symbolic `(B, Tv, Dv)`.
    """
    return [
        keras.KerasTensor((x.shape[0], *x.shape[2:]), dtype=x.dtype)
        for attention in attentions
        for x in attention.state_spec(memory)
    ]


def draw_noise(attentions, memories, steps, beams=None):
    """Draw for all steps what each attention needs at random."""
    noises = []
    for attention, memory in zip(attentions, memories, strict=True):
        noise = attention.draw_noise(memory, steps, beams=beams or 1)
        if noise is not None and not beams:
            noise = ops.squeeze(noise, axis=2)
        noises.append(noise)
    return pack(noises)


def attend(attentions, query, memories, states, noise=None):
    """Ask every attention.

    Args:
        attentions: The layers.
        query: `(B, Dq)`, or `(B, K, Dq)`.
        memories: The memory of each.
        states: Flat list of the states of all, with an axis `K` like `query`.
        noise: One step's slice of what `draw_noise` gave, or `None`.

    Returns:
        Lists of the contexts `(B, Dv)` and weights `(B, Tv)`, with an axis
        `K` like `query`, and the next states.
    """
    beams = len(query.shape) == 3

    def widen(x):
        return x if beams or x is None else ops.expand_dims(x, axis=1)

    def narrow(x):
        return x if beams else ops.squeeze(x, axis=1)

    contexts, weights, after = [], [], []
    noises = unpack(attentions, noise)
    for attention, memory, drawn in zip(
        attentions, memories, noises, strict=True
    ):
        own = tuple(widen(x) for x in states[: attention.state_count])
        states = states[attention.state_count :]
        context, weight, own = attention.step(
            widen(query), memory, own, widen(drawn)
        )
        contexts.append(narrow(context))
        weights.append(narrow(weight))
        after.extend(narrow(x) for x in own)
    return contexts, weights, after
