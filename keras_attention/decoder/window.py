"""Attention in a window: a step scores only positions near the last one."""

import functools
from typing import NamedTuple

from keras_attention.alignments import SimplexAlignment
from keras_attention.attention import Memory
from keras_attention.attention import MultiHead
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.ops import first_position
from keras_attention.ops import hoist
from keras_attention.ops.positions import count_up


class AttentionWindow(NamedTuple):
    """The positions that a decoder step may attend to in inference.

    The window contains the positions from `p - before` to `p + after`. Here `p`
    is the position with the largest weight in the previous step; initially, it
    is the first valid position. If all weights are 0, `p` does not change.

    Attributes:
        before: Number of positions before `p`.
        after: Number of positions after `p`.
    """

    before: int
    after: int

    def step(
        self, layer, query, memory, state, noise=None, training=None
    ) -> tuple:
        """Attend with a layer, like its `step`, within the window.

        A layer with a `score_margin` and an alignment without a state scores
        only the positions of the window. For other layers, the remaining
        positions are masked. A training step attends everywhere and does not
        change `p`.

        Args:
            layer: An attention layer.
            query: `(B, K, Dq)`.
            memory: What `layer.prepare` returned.
            state: The state of the layer, then `p`, `(B, K, 1)`.
            noise: As in `step`.
            training: Whether this is a training step.

        Returns:
            Context `(B, K, Dv)`, weights `(B, K, Tv)` and the next state.
        """
        state, last = state[:-1], state[-1]
        if training:
            context, weights, state = layer.step(query, memory, state, noise)
            return context, weights, (*state, last)
        margin = _margin(layer)
        if margin is not None and noise is None:
            return self._step_near(layer, query, memory, state, last, margin)
        words = ops.shape(memory.values)[1]
        ahead = count_up(words, last.dtype) - last  # (B, K, Tv)
        near = ops.logical_and(ahead >= -self.before, ahead <= self.after)
        context, weights, state = layer.step(
            query, memory, state, noise, attention_mask=near
        )
        return context, weights, (*state, _largest(weights, last, 0))

    def _step_near(self, layer, query, memory, state, last, margin):
        """Attend to each query's window, which is cut out of memory."""
        cut = _Cut(self, margin, query, memory, last)
        context, near, _ = layer.step(
            ops.reshape(query, (-1, 1, query.shape[-1])),
            cut.memory(memory),
            tuple(cut.history(x) for x in state),
        )
        weights = cut.paste(near)
        state = [layer.next_history(x, weights) for x in state]
        shape = cut.batch, cut.beams
        context = ops.reshape(context, (*shape, context.shape[-1]))
        near = ops.reshape(near, (*shape, cut.size))
        last = _largest(near, last, last - cut.before)
        return context, weights, (*state, last)


def check_window(window, attention) -> AttentionWindow | None:
    """Check and convert the argument `attention_window` of a cell.

    Args:
        window: Argument of the cell.
        attention: Argument of the cell.

    Raises:
        ValueError: If it is not `None` or a pair of numbers of positions, or
            if there is no attention.
    """
    if window is None:
        return None
    if not isinstance(window, list | tuple) or len(window) != 2:
        raise ValueError(
            "`attention_window` must be None or a pair: how many positions to "
            "attend to before and after the position of the previous step. "
            f"Received: attention_window={window!r}. Try "
            "attention_window=(2, 8)."
        )
    if attention is None:
        raise ValueError(
            "`attention_window` needs attention. Received: "
            f"attention_window={window!r} with attention=None. Omit it."
        )
    names = "attention_window[0]", "attention_window[1]"
    return AttentionWindow(*map(check_integer, names, window, (0, 0)))


def _margin(layer):
    """Return how far around a window scores are needed, or `None`."""
    inner = layer
    if isinstance(layer, MultiHead) and not layer.state_count:
        inner = layer.attention
    local = isinstance(inner.aligner, SimplexAlignment)
    return inner.score_margin if local else None


class _Cut:
    """Cuts the same number of positions out of the source of each query.

    The source is padded on both sides, so that all positions exist. The
    positions of the margin are cut out as well, but hidden.

    Args:
        window: An `AttentionWindow`.
        margin: Number of positions beside the window that scores depend on.
        query: `(B, K, Dq)`.
        memory: A `Memory`.
        last: Position `p`, `(B, K, 1)`.
    """

    def __init__(self, window, margin, query, memory, last):
        self.margin = margin
        self.before = window.before + margin
        self.size = self.before + 1 + window.after + margin
        self.after = window.after + margin + 1  # an empty source has a `p`
        self.batch, self.beams = ops.shape(query)[:2]
        self.room = self.before + ops.shape(memory.values)[1] + self.after
        places = ops.arange(self.size, dtype="int32")
        self.places = ops.cast(last, "int32") + places  # (B, K, size)

    def memory(self, memory) -> Memory:
        """Return a memory `(B K, size, ...)`."""
        pad = functools.partial(_pad, self.before, self.after)
        order = ops.arange(self.size, dtype="int32")
        inner = ops.logical_and(
            order >= self.margin, order < self.size - self.margin
        )
        constants = memory[1:] if memory.mask is not None else memory[1:2]
        real = hoist(lambda *x: pad(_real(*x)), *constants)
        padded = hoist(pad, memory.keys), hoist(pad, memory.values), real
        keys, values, real = (self._take(x, self.batch, 1) for x in padded)
        return Memory(keys, values, ops.logical_and(real > 0, inner))

    def history(self, x):
        """Return `(B K, 1, size)` of a history `(B, K, Tv)`."""
        rows = self.batch * self.beams
        x = _pad(self.before, self.after, ops.reshape(x, (rows, -1)))
        return ops.expand_dims(self._take(x, self.batch, self.beams), 1)

    def paste(self, weights):
        """Put weights `(B K, 1, size)` into zeros, `(B, K, Tv)`."""
        rows = self.batch * self.beams
        every = ops.scatter_update(
            ops.zeros((rows * self.room,), weights.dtype),
            ops.reshape(self._offset(self.batch, self.beams), (-1, 1)),
            ops.reshape(weights, (-1,)),
        )
        every = ops.reshape(every, (self.batch, self.beams, self.room))
        return every[..., self.before : -self.after]

    def _offset(self, batch, beams):
        """Return indices into the concatenated sources: `(B K, size)`."""
        rows = ops.arange(batch * beams, dtype="int32")
        rows = ops.reshape(rows, (batch, beams, 1)) * self.room
        return ops.reshape(rows + self.places, (-1, self.size))

    def _take(self, x, batch, beams):
        flat = ops.reshape(x, (-1, *x.shape[2:]))
        return ops.take(flat, self._offset(batch, beams), axis=0)


def _real(values, mask=None):
    """Return 1 at valid positions, `(B, Tv)`; booleans cannot be padded."""
    if mask is None:
        return ops.ones(ops.shape(values)[:2], "int32")
    return ops.cast(mask, "int32")


def _pad(before, after, x):
    """Add zeros before and after the source, on axis 1."""
    rest = [(0, 0)] * (len(x.shape) - 2)
    return ops.pad(x, [(0, 0), (before, after), *rest])


def _largest(weights, last, first):
    """Return the position of the largest weight, or `last` if all are 0.

    Args:
        weights: `(B, K, T)`.
        last: `(B, K, 1)`.
        first: The position of the first weight, `(B, K, 1)` or a number.
    """
    weights = ops.cast(weights, last.dtype)
    best = ops.max(weights, axis=-1, keepdims=True, initial=0.0)
    here = ops.logical_and(weights == best, best > 0)
    found = first + first_position(ops.cast(here, last.dtype))
    return ops.where(best > 0, found, last)
