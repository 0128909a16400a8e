"""Generation outside of a graph, by programs that similar searches share."""

import copy
import threading

import keras
from keras import ops

from keras_attention.layers import obeys_masks
from keras_attention.models.next_word import search_words
from keras_attention.ops.programs import compiled
from keras_attention.ops.programs import compiles_each_shape
from keras_attention.ops.programs import fitting_size
from keras_attention.search import AbstractSearch
from keras_attention.search import Generation

SHORTEST = 8


def search_compiled(
    model, source, search, prefix, attends: bool = True, shortlist=None
) -> Generation:
    """Search the words that a model writes, by a compiled program.

    Args:
        model: A `Seq2Seq`.
        source: Ids `(B, Tv)` or features `(B, Tv, D)`, of a row at least.
        search: A search strategy, or a function like one.
        prefix: Ids `(B, P)`, or `None`.
        attends: Whether to keep the weights. Defaults to `True`.
        shortlist: A `Shortlist` that fits the model, or `None`. Defaults to
            `None`.

    Returns:
        A `Generation`.
    """
    key = id(search)
    if isinstance(search, AbstractSearch):
        key = search.program_key()
    program = model.programs.get(
        model.version,
        (key, attends, shortlist),
        lambda: GenerationProgram(model, search, attends, shortlist),
    )
    return program(source, search, prefix)


class GenerationProgram:
    """Generates by any search with the same `program_key`.

    Each length of texts needs buffers of that size, so there is a program for
    each of a few sizes. Where each shape is compiled, batches of ids have a
    few sizes, too: they are filled up with copies of the last row, which end
    when it ends, and sources with zeros if the encoder obeys masks, so that
    padding changes nothing. Threads may share the object.

    Args:
        model: The model that generates.
        search: A search strategy, or a function like one.
        attends: Whether to keep the weights.
        shortlist: A `Shortlist` that fits the model, or `None`.
    """

    def __init__(self, model, search, attends: bool, shortlist):
        self.model = model
        self.search = search
        self.options = attends, shortlist
        self.resizes = compiles_each_shape(model)
        self.pads = obeys_masks(model.encoder)
        self._lock = threading.Lock()
        self._programs = {}  # by the size of the buffers

    def __call__(self, source, search, prefix) -> Generation:
        numbers = _numbers(search)
        length = search.max_length if "max_length" in numbers else None
        rows, columns = source.shape[:2]
        # Features that are padded may be unmasked.
        resizes = self.resizes and len(source.shape) == 2
        if resizes:
            source = _repeat_last(_widen(source) if self.pads else source)
            prefix = None if prefix is None else _repeat_last(_widen(prefix))
        states = [generator.state for generator in _generators(search)]
        run = self._for_texts_of(length)
        found = run(source, prefix, numbers, states=states)
        if resizes:
            found = _cut(found, rows, None, columns if self.pads else None)
        if length not in (None, found.tokens.shape[2]):
            found = _cut(found, None, length, None)
        return found

    def _for_texts_of(self, length):
        """Find a program with buffers of twice the length at most.

        The first one has no room to spare, since every step writes all of it.
        """
        with self._lock:
            size = length
            if length is not None and self._programs:
                fitting = [
                    n for n in self._programs if length <= n <= 2 * length
                ]
                size = min(fitting, default=fitting_size(length))
            if size not in self._programs:
                self._programs[size] = self._compile(size)
            return self._programs[size]

    def _compile(self, size):
        model, search = self.model, self.search
        if size is not None:
            search = copy.copy(search)
            search.max_length = size

        def generate(source, prefix, numbers):
            return search_words(
                model, source, search, prefix, *self.options, **numbers
            )

        seeds = [generator.state for generator in _generators(search)]
        return compiled(generate, model, seeds)


def _numbers(search):
    """Return the options of a search that its program takes as tensors."""
    if isinstance(search, AbstractSearch):
        return search.program_arguments()
    return {}


def _generators(search):
    """List the generators of random numbers that a search holds."""
    values = (search.__getstate__() or {}).values()
    return [x for x in values if isinstance(x, keras.random.SeedGenerator)]


def _cut(found, rows, steps, columns):
    """Keep the first rows, steps and columns, `None` for all."""
    return Generation(
        found.tokens[:rows, :, :steps],
        found.scores[:rows],
        found.lengths[:rows],
        found.weights
        if found.weights is None
        else found.weights[:rows, :, :steps, :columns],
    )


def _repeat_last(x):
    missing = fitting_size(x.shape[0]) - x.shape[0]
    return ops.concatenate([x, ops.repeat(x[-1:], missing, axis=0)])


def _widen(x):
    length = x.shape[1]
    return ops.pad(
        x, [[0, 0], [0, fitting_size(max(length, SHORTEST)) - length]]
    )
