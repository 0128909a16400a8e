"""The steps of a stream: functions from tensors to tensors."""

import math
from typing import Any
from typing import NamedTuple

from keras import layers
from keras import tree

from keras_attention.alignments import AbstractReading
from keras_attention.attention import Memory
from keras_attention.backend import ops
from keras_attention.checks import refuse_to_stream
from keras_attention.decoder import StateBridge
from keras_attention.decoder.stack import CellStack
from keras_attention.decoder.stack import run_cells
from keras_attention.layers import loops_as_keras
from keras_attention.models import Seq2Seq
from keras_attention.ops import first_position
from keras_attention.ops import freeze
from keras_attention.ops import hoister
from keras_attention.ops import join_masks
from keras_attention.ops import wide_dtype
from keras_attention.search import ban
from keras_attention.search import loop_while
from keras_attention.streaming.state import StreamState

HARD = (
    "Use an attention that can stream, such as BahdanauAttention(64, "
    "alignment=Monotonic(mode='hard'))."
)
ONE_WAY = (
    "Use RecurrentEncoder(units, bidirectional=False), or a unidirectional "
    "LSTM, GRU, SimpleRNN or RNN(cell); or define the methods `first_states` "
    "and `read_on` in the encoder."
)


def find_readings(model: Seq2Seq) -> list[AbstractReading]:
    """Return how each attention of a model reads a source.

    Args:
        model: The model.

    Raises:
        ValueError: If the decoder or one of its components needs the end of the
            source.
    """
    model.readout.check_stream()
    attentions = model.decoder.cell.attentions
    if not attentions:
        reason = "leaves the decoder only the encoder's final states"
        refuse_to_stream("attention=None", reason, HARD)
    _check_bridge(model.bridge, model.encoder)
    if model.decoder.cell.attention_window is not None:
        reason = "follows the largest weight, not the position of the stream"
        way_out = (
            "Omit it: a stream keeps only positions that may still be needed."
        )
        refuse_to_stream("attention_window", reason, way_out)
    return [layer.reading() for layer in attentions]


def _check_bridge(bridge, encoder):
    """Raise an error unless the decoder's initial states are zeros."""
    mode = getattr(bridge, "mode", None)
    if bridge is None and not getattr(encoder, "return_state", True):
        return
    if isinstance(bridge, StateBridge) and mode == "zeros":
        return
    kind = None if bridge is None else type(bridge).__name__
    received = f"bridge={kind}({mode!r})" if mode else f"bridge={kind}"
    reason = "passes the encoder's final states to the decoder"
    way_out = "Use StateBridge('zeros', units=...), and train with it."
    refuse_to_stream(received, reason, way_out)


def find_reader(encoder: layers.Layer):
    """Return an object that reads a source in parts with an encoder.

    A custom encoder is supported if it has the methods

    - `first_states(rows)`, which returns a list of tensors `(B, ...)`;
    - `read_on(sequence, mask, states)`, which reads `(B, n, D)`, valid where
      the boolean mask `(B, n)` is `True`, and returns the outputs `(B, m, Dv)`,
      their mask `(B, m)` and the next states, of the same shapes.

    The concatenated outputs of all parts must equal the outputs for the whole
    source.

    Args:
        encoder: The encoder of a `Seq2Seq`.

    Returns:
        An object with these two methods.

    Raises:
        ValueError: If the encoder needs the end of the source, or is of an
            unknown type.
    """
    name = f"{type(encoder).__name__} `{encoder.name}`"
    reason = "also reads from the end of the source"
    if getattr(encoder, "bidirectional", False):
        refuse_to_stream(f"{name} with bidirectional=True", reason, ONE_WAY)
    if hasattr(encoder, "read_on") and hasattr(encoder, "first_states"):
        return encoder
    if isinstance(encoder, layers.Bidirectional):
        refuse_to_stream(name, reason, ONE_WAY)
    if not loops_as_keras(encoder):
        refuse_to_stream(name, "may need the end of the source", ONE_WAY)
    if encoder.go_backwards:
        reason = "reads from the end of the source"
        refuse_to_stream(f"{name} with go_backwards=True", reason, ONE_WAY)
    if encoder.stateful:
        reason = "continues from the end of another source"
        refuse_to_stream(f"{name} with stateful=True", reason, ONE_WAY)
    return LayerReader(encoder)


class LayerReader:
    """Reads a sequence part by part, with the cells of a recurrent layer.

    Args:
        layer: One of Keras' recurrent layers.
    """

    def __init__(self, layer: layers.RNN):
        self.layer, self.stack = layer, CellStack(layer.cell)

    def first_states(self, rows) -> list:
        """Return the states before the source, `(B, U)` each."""
        return self.stack.initial_states(rows)

    def read_on(self, sequence, mask, states) -> tuple:
        """Read a part, like `RecurrentEncoder.read_on`."""
        sequence = ops.cast(sequence, self.layer.compute_dtype)
        outputs, states = run_cells(
            self.stack,
            ops.swapaxes(sequence, 0, 1),
            ops.swapaxes(mask, 0, 1),
            states,
            repeats=not self.layer.zero_output_for_mask,
        )
        return ops.swapaxes(outputs, 0, 1), mask, states


class _Words(NamedTuple):
    """The tokens of one call, and the parts of the state that change."""

    on: Any  # (B,), whether the row goes on writing
    tokens: Any  # (B, room)
    lengths: Any  # (B,)
    decoder: list
    heads: list
    word: Any  # (B,)
    left: Any  # (B,)


class StreamSteps:
    """Reads and generates with a model, from state to state.

    Args:
        model: A `Seq2Seq`. What its `next_word` takes as prepared is a pair,
            of the decoder's memory and of what the output has prepared:
            nothing.
        start_id: Id of the start token. Defaults to `2`.
        end_id: Id of the end token. Defaults to `3`.

    Attributes:
        reads_ids: Whether a source consists of ids rather than features.
        lookbacks: Number of positions before its head that each attention
            needs.

    Raises:
        ValueError: If a component of the model needs the end of the source.
    """

    def __init__(self, model: Seq2Seq, start_id: int = 2, end_id: int = 3):
        self.model = model
        self.readings = find_readings(model)
        self.reader = find_reader(model.encoder)
        self.reads_ids = model.source_vocabulary_size is not None
        self.lookbacks = [reading.before for reading in self.readings]
        self.start_id = start_id
        self.end_id = end_id

    def start(self, rows, max_length) -> StreamState:
        """Return the state before the source.

        Its memory is one masked position, because no export format supports
        empty tensors.

        Args:
            rows: Number of rows, an integer or a scalar tensor.
            max_length: Maximum length of a target, an integer or a scalar
                tensor.
        """
        cell, spec = self.model.decoder.cell, self.model.source_spec
        memories, mask, states = self._prepared(
            ops.zeros((rows, 1, *spec.shape[2:]), spec.dtype),
            ops.zeros((rows, 1), "bool"),
            self.reader.first_states(rows),
        )
        begun = None
        if self.model.bridge is not None:  # of zeros
            sizes = cell.state_layout.cell_sizes
            begun = [ops.zeros((rows, n), cell.compute_dtype) for n in sizes]
        begun = cell.initial_state(cell.attentions.pack(memories), begun)
        recurrent, fed, _ = cell.state_layout.split(begun)
        number = ops.zeros((rows,), "int32")
        return StreamState(
            encoder=states,
            decoder=[*recurrent, *fed],
            keys=[x.keys for x in memories],
            values=[x.values for x in memories],
            mask=mask,
            count=number,
            heads=[number for _ in memories],
            word=number + self.start_id,
            left=number + max_length,
        )

    def read(self, chunk, mask, state: StreamState) -> StreamState:
        """Read a part of the source.

        Args:
            chunk: Ids `(B, n)` or features `(B, n, D)`, with at least one
                position.
            mask: Boolean `(B, n)`, `True` at valid features; `None` for ids,
                and for features that are all valid.
            state: The state before.

        Returns:
            The state after.
        """
        if self.reads_ids:
            mask = ops.not_equal(chunk, 0)
        elif mask is None:
            mask = ops.ones(ops.shape(chunk)[:2], "bool")
        memories, mask, states = self._prepared(chunk, mask, state.encoder)
        # What nothing real has come before begins at the first real position.
        size = ops.shape(mask)[1]
        real = ops.cast(mask, "int32")
        first = ops.where(
            ops.any(mask, axis=1), first_position(real)[:, 0], size
        )
        heads = [
            ops.where(ops.equal(head, state.count), head + first, head)
            for head in state.heads
        ]
        state = state._replace(heads=heads)
        return state.extended(states, memories, mask)

    def _prepared(self, chunk, mask, states):
        """Encode a part, and prepare it for every attention."""
        if self.reads_ids:
            chunk = self.model.embed_source(chunk)
        chunk = ops.cast(chunk, self.model.compute_dtype)
        sequence, mask, states = self.reader.read_on(chunk, mask, states)
        memories = self.model.decoder.cell.attentions.prepare(sequence, mask)
        return memories, mask, list(states)

    def write(self, state: StreamState, ended: bool, room: int) -> tuple:
        """Generate all tokens that the parts read so far determine.

        Args:
            state: The state before.
            ended: Whether the source has ended, so that all tokens are
                determined.
            room: Maximum number of tokens to generate per row.

        Returns:
            Ids `(B, room)`, 0 after the last one; their number `(B,)`;
            booleans `(B,)`, `True` for rows that reached `room`; and the state
            after.
        """
        step, places = self._step(state), state.places
        rows = ops.shape(state.word)[0]

        def grow(words):
            return self._grow(words, step, places, ended)

        words = grow(
            _Words(
                on=state.left > 0,
                tokens=ops.zeros((rows, room), "int32"),
                lengths=ops.zeros((rows,), "int32"),
                decoder=state.decoder,
                heads=state.heads,
                word=state.word,
                left=state.left,
            )
        )
        words = loop_while(lambda x: ops.any(x.on), grow, words, room - 1)
        state = state._replace(
            decoder=words.decoder,
            heads=words.heads,
            word=words.word,
            left=words.left,
        )
        return words.tokens, words.lengths, words.on, state

    def _step(self, state):
        """Return the step of a search; its first call is before the loop."""
        model, memories = self.model, []
        for keys, values in zip(state.keys, state.values, strict=True):
            memories.append(Memory(keys, values, state.mask))
        prepared = model.decoder.cell.attentions.pack(memories), ()
        never = sorted({0, self.start_id} - {self.end_id})
        hoisted = hoister([*model.variables, *tree.flatten(prepared)])

        def step(tokens, states):
            with hoisted():
                log_probs, states, _ = model.next_word(tokens, states, prepared)
            return ban(log_probs, never) if never else log_probs, states

        return step

    def _grow(self, words, step, places, ended):
        """Generate a token in each row whose next token is determined."""
        placed = self._place(words.heads, places)
        log_probs, after = step(words.word, [*words.decoder, *placed])
        count = len(words.decoder)
        final, waiting, moved = self._follow(words.heads, places, after[count:])
        goes = words.on if ended else join_masks(words.on, *final)
        gains, word = ops.top_k(log_probs, 1)
        word = ops.cast(word[:, 0], "int32")
        exists = ops.greater(gains[:, 0], -math.inf)  # NaN is not
        given = ops.logical_and(goes, exists)
        goes_on = ops.logical_and(given, ops.not_equal(word, self.end_id))
        left = ops.where(goes_on, words.left - 1, ops.zeros_like(words.left))
        heads = freeze(goes, moved, waiting)
        # A row that is on has written a word at every step so far.
        position, room = words.lengths[:, None], words.tokens.shape[1]
        here = ops.equal(ops.arange(room, dtype="int32"), position)
        here = ops.logical_and(here, given[:, None])  # (B, room)
        return _Words(
            on=ops.logical_and(goes, left > 0),
            tokens=ops.where(here, word[:, None], words.tokens),
            lengths=words.lengths + ops.cast(given, "int32"),
            decoder=freeze(goes, after[:count], words.decoder),
            heads=freeze(words.on, heads, words.heads),
            word=ops.where(given, word, words.word),
            left=ops.where(goes, left, words.left),
        )

    def _place(self, heads, places) -> list:
        """Create the attentions' states from their heads, as one flat list."""
        placed = []
        for layer, reading, head in self._each(heads):
            dtype = wide_dtype(layer.compute_dtype)
            placed.extend(reading.place(head, places, dtype))
        return placed

    def _follow(self, heads, places, states) -> list:
        """Determine whether the weights of each attention are final.

        Args:
            heads: The head of each attention before the step, `(B,)`.
            places: The positions of the memory, `(B, W)`.
            states: Flat list of the attentions' states after the step.

        Returns:
            Lists of the results of `AbstractReading.follow`.
        """
        left, answers = list(states), []
        for layer, reading, head in self._each(heads):
            own, left = left[: layer.state_count], left[layer.state_count :]
            answers.append(reading.follow(head, places, own))
        return [list(column) for column in zip(*answers, strict=True)]

    def _each(self, heads):
        attentions = self.model.decoder.cell.attentions
        return zip(attentions, self.readings, heads, strict=True)
