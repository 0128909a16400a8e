"""Generation while a source arrives in parts."""

import functools

import numpy as np

from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_shape
from keras_attention.layers import carried_mask
from keras_attention.models import Seq2Seq
from keras_attention.models.generation import SIZES
from keras_attention.models.generation import compiled
from keras_attention.models.generation import fitting_size
from keras_attention.models.generation import register_streams
from keras_attention.search import GreedySearch
from keras_attention.search.base import check_search_ids
from keras_attention.streaming.state import StreamState
from keras_attention.streaming.steps import StreamSteps

LARGEST = 64  # positions that are read at once
ROOM = 32  # words that are written at once
POWERS = [n for n in SIZES if n.bit_count() == 1 and n <= LARGEST]


class StreamProgram:
    """The compiled steps of streams with the same start and end ids.

    Args:
        model: The model that generates.
        start_id: Id of the start token.
        end_id: Id of the end token.

    Raises:
        ValueError: If a component of the model needs the end of the source.
    """

    def __init__(self, model: Seq2Seq, start_id: int, end_id: int):
        search = GreedySearch(start_id=start_id, end_id=end_id)
        check_search_ids(search, model.target_vocabulary_size)
        steps = StreamSteps(model, start_id, end_id)
        # Where each shape is compiled, parts come in a few sizes.
        self.few_sizes = model.compiles_each_shape
        self.classes = model.source_vocabulary_size
        self.axes = model.source_spec.shape[2:]

        def start(rows, max_length):
            return steps.start(ops.shape(rows)[0], max_length)

        def write(state, ended):
            tokens, lengths, on, state = steps.write(state, ended, ROOM)
            return tokens, lengths, on, state.needed(steps.lookbacks), state

        def push(chunk, mask, state):
            return write(steps.read(chunk, mask, state), False)

        def more(state):
            return write(state, False)

        def end(state):
            return write(state, True)

        self.start, self.push, self.more, self.end = (
            compiled(step, model) for step in (start, push, more, end)
        )

    def parts(self, size: int):
        """Split a part into parts of sizes for which there are programs.

        Args:
            size: Its number of positions.

        Yields:
            Slices, in order.
        """
        first = 0
        while first < size:
            length = min(size - first, LARGEST)
            if self.few_sizes:
                length = max(n for n in (1, *POWERS) if n <= length)
            yield slice(first, first + length)
            first += length


class Stream:
    """Generates a target while its source arrives in parts.

    Create a stream with `model.stream()`. Together, its tokens equal those of
    `model.generate(whole, GreedySearch(max_length))`, regardless of how the
    source is divided into parts. Each token is returned as soon as the parts
    that have arrived determine it. The memory of a stream does not grow with
    the source, because the stream keeps only positions that not every attention
    layer has passed. The time per position does not grow with the source
    either.

    Args:
        program: The compiled steps.
        max_length: Maximum length of a target, in tokens, including the end
            token.
        batch_size: Number of rows.

    Example:

    >>> model = Seq2Seq(
    ...     source_vocabulary_size=9,
    ...     target_vocabulary_size=9,
    ...     embedding_dim=4,
    ...     encoder=RecurrentEncoder(4, bidirectional=False),
    ...     bridge=StateBridge("zeros", units=4, bidirectional=False),
    ...     decoder=AttentionDecoder(AttentionDecoderCell(
    ...         LSTMCell(4), BahdanauAttention(4, alignment=Monotonic("hard"))
    ...     )),
    ... )
    >>> model.build(((None, None), (None, None)))
    >>> stream = model.stream(max_length=5)
    >>> words = stream.push([[2, 7, 5]])[0] + stream.push([[8, 3]])[0]
    >>> words = words + stream.end()[0]
    >>> whole = model.generate([[2, 7, 5, 8, 3]], GreedySearch(max_length=5))
    >>> words == [int(x) for x in whole.tokens[0, 0] if x]
    True
    """

    def __init__(
        self, program: StreamProgram, max_length: int, batch_size: int
    ):
        check_integer("max_length", max_length)
        check_integer("batch_size", batch_size)
        self._program = program
        self._rows = batch_size
        self._ended = False
        rows = np.zeros((batch_size,), "int32")
        self._state = program.start(rows, np.int32(max_length))

    @property
    def state(self) -> StreamState:
        """All that the stream keeps of the source and the target."""
        return self._state

    @property
    def finished(self) -> list[bool]:
        """Whether each row has an end token or has reached `max_length`."""
        return (ops.convert_to_numpy(self._state.left) == 0).tolist()

    def push(self, chunk, mask=None) -> list[list[int]]:
        """Read a part of the source.

        Id 0 is padding at any position: use zeros for a row without new input.
        Positions of padding count as positions of the source.

        Args:
            chunk: Ids `(B, n)`, or features `(B, n, D)`. A chunk without
                positions has no effect.
            mask: Boolean `(B, n)`, `True` at valid features. Defaults to the
                mask that `chunk` carries, or to `True` everywhere.

        Returns:
            The new tokens of each row, which this part determines.

        Raises:
            ValueError: If the stream has ended, or if the shape of the chunk
                does not match.
        """
        self._check_open("push")
        program, chunk = self._program, ops.convert_to_tensor(chunk)
        if mask is None and not program.classes:
            mask = carried_mask(chunk)
        _check_part(chunk, mask, self._rows, program.axes, program.classes)
        if program.classes:
            chunk = ops.cast(chunk, "int32")
        if mask is not None:
            mask = ops.cast(ops.convert_to_tensor(mask), "bool")
        words = [[] for _ in range(self._rows)]
        for part in program.parts(chunk.shape[1]):
            real = None if mask is None else mask[:, part]
            more = self._run(words, program.push, chunk[:, part], real)
            while more:
                more = self._run(words, program.more)
        return words

    def end(self) -> list[list[int]]:
        """End the source of all rows.

        Returns:
            The remaining tokens of each row.

        Raises:
            ValueError: If the stream has ended.
        """
        self._check_open("end")
        self._ended = True
        words = [[] for _ in range(self._rows)]
        while self._run(words, self._program.end):
            pass
        return words

    def _run(self, words, step, *part) -> bool:
        """Run a compiled step; return whether tokens exceeded the room."""
        *written, state = step(*part, self._state)
        tokens, lengths, on, needed = map(ops.convert_to_numpy, written)
        for row, ids, length in zip(words, tokens, lengths, strict=True):
            row.extend(ids[:length].tolist())
        size = fitting_size(int(needed))
        if size < state.mask.shape[1]:
            state = state.kept(size)
        self._state = state.widened(size)
        return bool(on.any())

    def _check_open(self, method):
        if self._ended:
            raise ValueError(
                f"`{method}` needs a stream that has not ended. Received: "
                f"{method}() after end(). Create a new stream: model.stream()."
            )


@register_streams
def begin_stream(
    model: Seq2Seq, max_length: int, batch_size: int, start_id: int, end_id: int
) -> Stream:
    """Start a stream; see `Seq2Seq.stream`.

    Args:
        model: A built model.
        max_length: Maximum length of a target, in tokens, including the end
            token.
        batch_size: Number of sources to read together.
        start_id: Id of the start token.
        end_id: Id of the end token.

    Returns:
        A `Stream`, with programs that all streams of the model share.
    """
    make = functools.partial(StreamProgram, model, start_id, end_id)
    key = "stream", start_id, end_id
    program = model.programs.get(model.version, key, make)
    return Stream(program, max_length, batch_size)


def _check_part(chunk, mask, rows: int, axes: tuple, classes: int | None):
    """Check the ids `(B, n)` of a part, or its features `(B, n, *axes)`."""
    shape = tuple(chunk.shape)
    needs = "`push` needs a chunk of shape (B, n" + ", D" * len(axes) + ")"
    way_out = (
        "For a single row, pass x[None]; for another batch size, use "
        "model.stream(batch_size=B)."
    )
    check_shape(needs, "chunk", shape, (rows, "n", *axes), way_out)
    if mask is not None and classes:
        raise ValueError(
            "`push` takes `mask` only for features, because id 0 is padding. "
            f"Received: mask of shape {np.shape(mask)}. Omit `mask`."
        )
    if mask is not None:
        needs = "`push` needs a `mask` (B, n), True at valid positions"
        way_out = "Omit it if all positions are valid."
        check_shape(needs, "mask", np.shape(mask), shape[:2], way_out)
    if classes and shape[1]:
        ids = ops.convert_to_numpy(chunk)
        in_range = 0 <= ids.min() <= ids.max() < classes
        if ids.dtype.kind not in "iu" or not in_range:
            raise ValueError(
                f"`push` needs integer ids from 0 to {classes - 1}, because "
                f"source_vocabulary_size={classes}. Received: {ids.dtype} from "
                f"{ids.min()} to {ids.max()}. Use the model's tokenizer."
            )
