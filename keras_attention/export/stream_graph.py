"""The steps of a stream in TensorFlow graphs, with the state by names."""

import keras
import numpy as np
import tensorflow as tf

from keras_attention.models import Seq2Seq
from keras_attention.models.stream_state import StreamState
from keras_attention.models.stream_steps import StreamSteps

MEMORY = ("keys", "values", "mask")  # whose axis 1 has any size
State = dict[str, tf.Tensor]


class StreamGraph:
    """Traces `start`, `push` and `end`, with every state an input or output.

    Args:
        model: A `Seq2Seq` that can be streamed.
        max_length: Longest text, in tokens, the end token included.
        start_id: The token to begin with.
        end_id: The token that ends a text.

    Attributes:
        functions: The `tf.function`s by the names of their signatures.

            - `start(batch_size)` gives the state of so many rows, each tensor
              with rows on axis 0.
            - `push(chunk, ...)` takes the state as well, and for features
              `mask_of_chunk`. It gives `tokens (B, max_length)`, new ids and
              then 0; `lengths (B,)`, their number; and the next state.
            - `end(...)` takes the state, and gives `tokens` and `lengths`.
    """

    def __init__(
        self, model: Seq2Seq, max_length: int, start_id: int, end_id: int
    ):
        self.steps = StreamSteps(model, start_id, end_id)
        self.max_length = max_length
        self.structure = self.steps.start(1, 1)
        specs = [_spec(name, x) for name, x in self._named(self.structure)]
        rows = tf.TensorSpec((), tf.int32, "batch_size")
        self.reads_ids = model.source_vocabulary_size is not None
        chunk = [tf.TensorSpec((None, None), tf.int32, "chunk")]
        if not self.reads_ids:
            shape = (None, None, *model.source_spec.shape[2:])
            real = tf.TensorSpec((None, None), tf.bool, "mask_of_chunk")
            chunk = [tf.TensorSpec(shape, model.compute_dtype, "chunk"), real]
        self.functions = {
            name: tf.function(step, signature, autograph=False)
            for name, step, signature in (
                ("start", self._start, [rows]),
                ("push", self._push, [*chunk, *specs]),
                ("end", self._end, specs),
            )
        }

    def _start(self, batch_size):
        return dict(self._named(self.steps.start(batch_size, self.max_length)))

    def _push(self, chunk, *given):
        mask = None
        if not self.reads_ids:
            mask, *given = given
        state = self.steps.read(chunk, mask, self._state(given))
        answer, state = self._write(state, False)
        befores = [reading.before for reading in self.steps.readings]
        state = state.kept(state.needed(befores))
        return {**answer, **dict(self._named(state))}

    def _end(self, *given):
        return self._write(self._state(given), True)[0]

    def _write(self, state, ended):
        room = self.max_length
        tokens, lengths, _, state = self.steps.write(state, ended, room)
        return {"tokens": tokens, "lengths": lengths}, state

    def _named(self, state: StreamState) -> list:
        """List the tensors of a state with their names."""
        found = []
        for name, value in state._asdict().items():
            if isinstance(value, list):
                found += [(f"{name}_{i}", x) for i, x in enumerate(value)]
            else:
                found.append((name, value))
        return found

    def _state(self, tensors) -> StreamState:
        return keras.tree.pack_sequence_as(self.structure, list(tensors))


def _spec(name, x):
    axes = [None, *x.shape[1:]]
    if name.partition("_")[0] in MEMORY:
        axes[1] = None
    return tf.TensorSpec(axes, x.dtype, name)


def probe_parts(model: Seq2Seq) -> list[list[np.ndarray]]:
    """Draw sources to try a stream on, the same ones every time.

    Args:
        model: A `Seq2Seq`.

    Returns:
        For each source its parts: ids `(B, n)`, or features `(B, n, D)`.
    """
    draw = np.random.default_rng(0)
    sources = []
    for rows, sizes in ((1, (1, 4, 2)), (3, (5, 3))):
        if model.source_vocabulary_size is not None:
            classes = model.source_vocabulary_size
            parts = [draw.integers(0, classes, (rows, n)) for n in sizes]
            parts = [x.astype("int32") for x in parts]
        else:
            axes = model.source_spec.shape[2:]
            parts = [draw.normal(size=(rows, n, *axes)) for n in sizes]
            parts = [x.astype(model.compute_dtype) for x in parts]
        sources.append(parts)
    return sources
