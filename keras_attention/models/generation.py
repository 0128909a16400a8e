"""Generation and scoring, in programs that are compiled once."""

import bisect
import copy
import functools
import math
import operator
import threading
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import tree

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.layers import carried_mask
from keras_attention.layers import with_mask
from keras_attention.ops import freeze
from keras_attention.ops import hoister
from keras_attention.ops import loop_over_time
from keras_attention.ops import widen
from keras_attention.ops.rows import take_rows
from keras_attention.ops.tokens import pick
from keras_attention.search import AbstractSearch
from keras_attention.search import Generation
from keras_attention.search import GreedySearch
from keras_attention.search import ban
from keras_attention.search.base import warn_of_none

# Where each shape is compiled, these are the sizes of batches and sources. At
# most a third of the tokens is padding, and lengths up to a hundred need less
# than ten of them.
SIZES = sorted(n << k for k in range(20) for n in (2, 3))
SHORTEST = 8  # of the widths to which ids are padded
_streams: list[Callable] = []  # one function, of the room above


class Programs:
    """Keeps programs by key, and drops the one not used for longest.

    Threads may share the object.

    Args:
        kept: Number of programs that are kept. Defaults to `16`.
    """

    def __init__(self, kept: int = 16):
        self.kept = kept
        self._lock = threading.Lock()
        self._version = None
        self._programs = {}  # the one used last is at the end

    def get(self, version: int, key: Hashable, make: Callable) -> Any:
        """Return the program of a key, and create it if necessary.

        Args:
            version: The `Version` of the model. All programs of another version
                are dropped.
            key: What is fixed in the program.
            make: Function without arguments that returns the program. Other
                threads wait for it, so it leaves tracing to the first call.
        """
        with self._lock:
            if version != self._version:
                self._version, self._programs = version, {}
            program = self._programs.pop(key, None)
            if program is None:
                program = make()
            self._programs[key] = program
            if len(self._programs) > self.kept:
                del self._programs[next(iter(self._programs))]
        return program


class Version:
    """Counts the changes that make compiled programs outdated.

    Programs contain the variables of a model, but not their values. A layer
    gets other variables, for instance, by `enable_lora` and `quantize`.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._seen = [], ()
        self._number = 0

    def number(self, variables: Sequence, *facts: Hashable) -> int:
        """Return a number, higher than before if anything has changed.

        Args:
            variables: Compared by identity.
            *facts: Compared by value.
        """
        with self._lock:
            before, known = self._seen
            same = len(before) == len(variables) and facts == known
            if not same or any(map(operator.is_not, before, variables)):
                self._seen = list(variables), facts
                self._number += 1
            return self._number


def compiled(function: Callable, model, seeds: Sequence = ()) -> Callable:
    """Compile a function of a model, as far as the backend compiles.

    Args:
        function: Function from tensors or `None` to a structure of tensors.
        model: The model whose variables it reads, an `AbstractModel`.
        seeds: The states of random generators that it changes. Defaults to
            `()`.

    Returns:
        A function with the same arguments and results. With `seeds` it also
        takes `states`, to be read and changed in their place.
    """
    return backend.compiled(function, model.variables, seeds, model.uses_xla)


def fitting_size(n: int) -> int:
    """Return the smallest of `SIZES` that is not below; 0 and 1 stay."""
    return SIZES[bisect.bisect_left(SIZES, n)] if n > 1 else n


def search_words(
    model, source, search, prefix=None, attends: bool = True, **options
) -> Generation:
    """Search for the targets of a source.

    Args:
        model: An `AbstractModel`.
        source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
        search: A search strategy, or a function like one.
        prefix: Ids `(B, P)`, or `None`.
        attends: Whether to keep the weights. Defaults to `True`.
        **options: Further call arguments of the search.

    Returns:
        A `Generation`.
    """
    rows, size = ops.shape(source)[0], model.target_vocabulary_size
    words = _row_words(search, rows, options)
    listed = [*words.values(), *([] if prefix is None else [prefix])]
    listed = ops.concatenate(listed, axis=1) if listed else None
    begun = model.begin(source, search=search, prefix=listed)
    never = {0, getattr(search, "start_id", 0)}
    never -= {getattr(search, "end_id", None)}
    keeps = attends or getattr(search, "reads_weights", True)
    step = word_step(model, begun.prepared, sorted(never), keeps, begun.ids)
    if begun.ids is not None:
        if prefix is not None:
            prefix = _numbers_of(begun.ids, prefix, size)
        for name, x in words.items():
            shape = ops.shape(options.get(name, getattr(search, name)))
            numbers = _numbers_of(begun.ids, x, size)
            options[name] = ops.reshape(numbers, shape)
    generation = search(
        step,
        begun.states,
        rows,
        memory_mask=begun.mask,
        prefix=prefix,
        **options,
    )
    if begun.ids is not None:
        tokens = _listed(begun.ids, generation.tokens)
        generation = generation._replace(tokens=tokens)
    return generation if attends else generation._replace(weights=None)


def word_step(
    model, prepared, never=(), attends: bool = True, ids=None
) -> Callable:
    """Return the step of a search, with shared results computed once.

    The first call, before the loop, computes what is the same at all steps.
    Such a loop has no gradient.

    Args:
        model: An `AbstractModel`.
        prepared: The `prepared` tensors from `begin`.
        never: Ids whose probability is set to 0. Defaults to `()`.
        attends: Whether the step returns weights. Defaults to `True`.
        ids: The ids `(B, S)` that are scored; the step then takes indices in
            this list. Defaults to `None`, all ids.

    Returns:
        `step(tokens, states)`, as an `AbstractSearch` calls it.
    """
    constants = [x for x in tree.flatten(prepared) if x is not None]
    hoisted = hoister([*model.variables, *constants])

    def step(tokens, states):
        words = tokens if ids is None else _listed(ids, tokens)
        with hoisted():
            found = model.next_word(words, states, prepared)
        log_probs, states, weights = found
        if never:
            log_probs = ban(log_probs, never)
        return log_probs, states, weights if attends else None

    return step


def score_words(model, source, target):
    """Score given targets, token by token.

    Args:
        model: An `AbstractModel`.
        source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
        target: Ids `(B, T)`, beginning with the start id, with `T` at least 2.

    Returns:
        `(B, T - 1)`, the log probability of each id except the first one; 0 at
        padding.
    """
    target = ops.cast(target, "int32")
    begun = model.begin(source, search=GreedySearch(), prefix=target)
    step = word_step(model, begun.prepared, ids=begun.ids)
    words = target
    if begun.ids is not None:
        words = _numbers_of(begun.ids, target, model.target_vocabulary_size)
    words, real = ops.transpose(words), ops.transpose(ops.not_equal(target, 0))
    # Behind padding in front stands the start id, which is not scored.
    scored = ops.logical_and(real[:-1], real[1:])
    columns = words[:-1], real[:-1], words[1:], scored

    def read(states, inputs):
        word, is_real, after, is_scored = inputs
        packed = tree.pack_sequence_as(begun.states, states)
        log_probs, new, _ = step(word[:, None], packed)
        gains = pick(widen(log_probs), after[:, None])[:, 0]
        gains = ops.where(is_scored, gains, ops.zeros_like(gains))
        return freeze(is_real, tree.flatten(new), states), [gains]

    first = [x[0] for x in columns]  # before the loop, as `word_step` needs
    states, (gains,) = read(tree.flatten(begun.states), first)
    rest, blank = [x[1:] for x in columns], [ops.zeros_like(gains)]
    steps = ops.shape(words)[0] - 2
    _, (more,) = loop_over_time(read, states, rest, blank, steps)
    return ops.transpose(ops.concatenate([gains[None], more]))


def score_compiled(model, source, target):
    """Score given targets like `score_words`, in a compiled program."""
    score = functools.partial(score_words, model)
    make = functools.partial(compiled, score, model)
    program = model.programs.get(model.version, "score", make)
    rows, steps = target.shape
    reads_ids = model.source_vocabulary_size is not None
    if model.compiles_each_shape and reads_ids:
        source = _repeat_last(_widen(source) if model.pads_freely else source)
        target = _repeat_last(_widen(target))
    return program(source, target)[:rows, : steps - 1]


def _listed(ids, numbers):
    """Return the ids `(B, ...)` of indices in the list of each row."""
    rows, count = ops.shape(ids)
    first = count * ops.arange(rows, dtype="int32")
    first = ops.reshape(first, (-1, *[1] * (len(numbers.shape) - 1)))
    return take_rows(ops.reshape(ids, (-1,)), numbers + first)


def asking_nothing(search):
    """Return a search whose `row_words` are one row of zeros."""
    names = getattr(search, "row_words", ())
    found = copy.copy(search) if names else search
    for name in names:
        shape = getattr(search, name).shape
        setattr(found, name, np.zeros((1, *shape[1:]), "int32"))
    return found


def _row_words(search, rows, options):
    """Return the ids `(B, P)` of each of the search's `row_words`."""
    found = {}
    for name in getattr(search, "row_words", ()):
        x = ops.convert_to_tensor(options.get(name, getattr(search, name)))
        count = math.prod(ops.shape(x)[1:])
        found[name] = ops.reshape(ops.cast(x, "int32"), (rows, count))
    return found


def _numbers_of(ids, prefix, size):
    """Return the indices of tokens in the sorted list of each row.

    An id outside the vocabulary gets an index beyond the list.
    """
    before = ops.less(ids[:, None], prefix[..., None])  # (B, P, S)
    numbers = ops.sum(ops.cast(before, "int32"), axis=-1)
    known = ops.logical_and(prefix >= 0, prefix < size)
    beyond = ops.zeros_like(numbers) + ops.shape(ids)[1]
    return ops.where(known, ops.cast(numbers, "int32"), beyond)


def search_compiled(
    model, source, search, prefix, attends: bool = True
) -> Generation:
    """Search for the targets of a source, in a compiled program.

    Args:
        model: An `AbstractModel`.
        source: Ids `(B, Tv)` or features `(B, Tv, D)`, with at least one row.
        search: A search strategy, or a function like one.
        prefix: Ids `(B, P)`, or `None`.
        attends: Whether to keep the weights. Defaults to `True`.

    Returns:
        A `Generation`.
    """
    known = isinstance(search, AbstractSearch)
    key = search.program_key() if known else id(search)
    make = functools.partial(GenerationProgram, model, search, attends)
    program = model.programs.get(model.version, (key, attends), make)
    return program(source, search, prefix)


class GenerationProgram:
    """Generates with any search that has the same `program_key`.

    Buffers depend on the maximum length, so there is a program for each of a
    few lengths. If each shape is compiled separately, batches of ids are also
    padded to a few sizes: with copies of the last row, which end when it ends,
    and, if the encoder obeys masks, with zeros at the end of sources, so that
    padding has no effect. Threads may share the object.

    Args:
        model: The model that generates.
        search: A search strategy, or a function like one.
        attends: Whether to keep the weights.
    """

    def __init__(self, model, search, attends: bool):
        self.model = model
        self.search = search
        self.attends = attends
        self.traced = False
        self.resizes = model.compiles_each_shape
        self.pads = model.pads_freely
        self._lock = threading.Lock()
        self._programs = {}  # by the size of the buffers

    def __call__(self, source, search, prefix) -> Generation:
        numbers = {}
        if isinstance(search, AbstractSearch):
            numbers = search.program_arguments()
        length = search.max_length if "max_length" in numbers else None
        rows, columns = source.shape[:2]
        # Features that are padded may be unmasked.
        mask = carried_mask(source)
        reads_ids = self.model.source_vocabulary_size is not None
        if resizes := self.resizes and reads_ids and mask is None:
            source = _repeat_last(_widen(source) if self.pads else source)
            prefix = None if prefix is None else _repeat_last(_widen(prefix))
            for name in getattr(search, "row_words", ()):
                numbers[name] = _repeat_last(numbers[name])
        states = [generator.state for generator in _generators(search)]
        run = self._for_texts_of(length)
        found = run(source, mask, prefix, numbers, states=states)
        if resizes:
            found = _cut(found, rows, None, columns if self.pads else None)
        if length not in (None, found.tokens.shape[2]):
            found = _cut(found, None, length, None)
        if self.traced:  # else the search warns itself
            warn_of_none(search, found.scores)
        return found

    def _for_texts_of(self, length):
        """Return a program with buffers of at most twice the length.

        The first program has buffers of exactly this length, because every step
        rewrites them.
        """
        with self._lock:
            size = length
            if length is not None and self._programs:
                fits = (n for n in self._programs if length <= n <= 2 * length)
                size = min(fits, default=fitting_size(length))
            if size not in self._programs:
                self._programs[size] = self._compile(size)
            return self._programs[size]

    def _compile(self, size):
        model, search = self.model, self.search
        if size is not None:
            search = copy.copy(search)
            search.max_length = size

        def generate(source, mask, prefix, numbers):
            self.traced = backend.is_traced(source)
            if mask is not None:  # which compiling would lose
                source = with_mask(source, mask)
            return search_words(
                model, source, search, prefix, self.attends, **numbers
            )

        seeds = [generator.state for generator in _generators(search)]
        return compiled(generate, model, seeds)


def register_streams(begin: Callable) -> Callable:
    """Say how streams begin, which stand above the models: a decorator.

    Args:
        begin: Function of a built model and of the arguments of
            `Seq2Seq.stream`, which returns the stream.

    Returns:
        The same function.
    """
    _streams[:] = [begin]
    return begin


def begin_stream(model, *arguments: int):
    """Start a stream of a model; see `Seq2Seq.stream`.

    Args:
        model: A `Seq2Seq`.
        *arguments: Arguments of `stream`, in order.
    """
    (begin,) = _streams
    return begin(model, *arguments)


def _generators(search):
    """List the random number generators of a search."""
    values = (search.__getstate__() or {}).values()
    return [x for x in values if isinstance(x, keras.random.SeedGenerator)]


def _cut(found, rows, steps, columns):
    """Keep the first rows, steps and columns; `None` keeps all."""
    weights, scores = found.weights, found.token_scores
    if weights is not None:
        weights = weights[:rows, :, :steps, :columns]
    return Generation(
        found.tokens[:rows, :, :steps],
        found.scores[:rows],
        found.lengths[:rows],
        weights,
        None if scores is None else scores[:rows, :, :steps],
    )


def _repeat_last(x):
    missing = fitting_size(x.shape[0]) - x.shape[0]
    return ops.concatenate([x, ops.repeat(x[-1:], missing, axis=0)])


def _widen(x):
    size = fitting_size(max(x.shape[1], SHORTEST))
    rest = [[0, 0]] * (len(x.shape) - 2)
    return ops.pad(x, [[0, 0], [0, size - x.shape[1]], *rest])
