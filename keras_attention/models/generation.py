"""Compiled generation, at a few sizes of batch, source and buffers."""

import bisect
import threading
from collections.abc import Callable

import keras
import numpy as np
from keras import ops
from keras import tree

from keras_attention.ops.fast_paths import fast_path
from keras_attention.search import AbstractSearch
from keras_attention.search import Generation

# XLA compiles once per shape. With these sizes at most a third of the tokens
# is padding, and lengths up to a hundred need less than ten of them.
SIZES = sorted(n << k for k in range(20) for n in (2, 3))
SHORTEST = 8
KEPT = 16  # number of programs that are kept
PLAIN = (bool, int, float, str, type(None))


def generation_compiler(model):
    """Make a function that compiles generation with a search.

    Searches that differ only in what a program takes as tensors, such as the
    seed, share one. Threads may share the function.

    Args:
        model: The model that generates. `compile(jit_compile=True)` selects
            XLA on TensorFlow.

    Returns:
        A function `compiled_generation(generate, search, attends=True)`, where
        `attends` is whether to keep the weights. It returns a function from a
        source and a prefix to a `Generation`.
    """
    kept, lock = {}, threading.Lock()

    def find(search, attends):
        xla = bool(model.compiled and model.jit_compile)
        same = (*_identity(search), attends, xla)
        with lock:
            rooms = [room for (*other, room) in kept if tuple(other) == same]
            key = (*same, _room(search, rooms))
            # The one that was used last is at the end.
            kept[key] = kept.pop(key, None) or _compile(
                model, search, *key[-3:]
            )
            while len(kept) > KEPT:
                kept.pop(next(iter(kept)))
            return kept[key]

    def compiled_generation(_, search, attends=True):
        program, numbers = find(search, attends), _numbers(search)
        states = [generator.state for generator in _generators(search)]

        def run(source, prefix):
            found = program(source, prefix, numbers, states=states)
            return _cut(found, search) if "limit" in numbers else found

        return run

    return compiled_generation


def _compile(model, search, attends, xla, room):
    """Compile generation with any search that is like this one."""

    def generate(source, prefix, numbers):
        traced = _traced(search, room, numbers)
        return model._generate(source, traced, prefix, attends)

    seeds = [generator.state for generator in _generators(search)]
    run = fast_path("compiled")(generate, model.variables, seeds, xla)
    if xla or keras.backend.backend() == "jax":
        run = at_few_sizes(run)
    return run


def _identity(search):
    """Return what searches have in common that can share a program.

    One whose options are not all plain values in its config shares none. Its
    program keeps it, so that no other search gets its `id`.
    """
    if not isinstance(search, AbstractSearch):
        return type(search), id(search)
    config, shared = search.get_config(), _tensor_options(search)
    known = all(
        name in config or isinstance(value, keras.random.SeedGenerator)
        for name, value in vars(search).items()
    )
    plain = all(isinstance(x, PLAIN) for x in tree.flatten(config))
    config = {k: v for k, v in config.items() if k not in shared}
    return type(search), repr(config), None if known and plain else id(search)


def _tensor_options(search):
    # Not inherited: a subclass may use them where no tensor can be.
    return vars(type(search)).get("tensor_options", ())


def _generators(search):
    values = getattr(search, "__dict__", {}).values()
    return [x for x in values if isinstance(x, keras.random.SeedGenerator)]


def _room(search, rooms):
    """Return the size of the buffers for the texts, best one that exists.

    The first limit gets what it needs, since every step writes all of it.
    """
    if "max_length" not in _tensor_options(search):
        return None
    length = search.max_length
    fitting = [room for room in rooms if length <= room <= 2 * length]
    return min(fitting, default=_size(length) if rooms else length)


def _numbers(search):
    """Return the options that the program takes as tensors."""
    options = {k: getattr(search, k) for k in _tensor_options(search)}
    options.pop("seed", None)  # it is in the generator's state
    if "max_length" in options:
        options["limit"] = np.int32(options.pop("max_length"))
    return {name: np.asarray(x) for name, x in options.items()}


def _traced(search, room, numbers):
    """Copy a search, with tensors as options."""
    if not numbers:
        return search
    copied = object.__new__(type(search))
    vars(copied).update(vars(search), **numbers)
    if room is not None:
        copied.max_length = room
    return copied


def _cut(found, search):
    """Cut what the buffers hold beyond the longest text."""
    length = search.max_length
    if found.tokens.shape[2] == length:
        return found
    weights = found.weights
    return found._replace(
        tokens=found.tokens[:, :, :length],
        weights=None if weights is None else weights[:, :, :length],
    )


def at_few_sizes(run: Callable):
    """Wrap generation so that sources of ids have sizes in `SIZES` only.

    Sources are padded with zeros, which do not change a result. The batch is
    filled up with copies of the last row, which end when it ends. If the
    encoder changes the length, the padding cannot be cut off the attention
    weights, so such a model runs at the original sizes.

    Args:
        run: Function from a source `(B, Tv)`, a prefix and what else there is
            to a `Generation`.

    Returns:
        A function with the same arguments and results.
    """
    keeps_length = True

    def resized(source, prefix, *more, **states):
        nonlocal keeps_length
        # Padded features may be unmasked; an empty batch has no last row.
        if len(source.shape) != 2 or not source.shape[0] or not keeps_length:
            return run(source, prefix, *more, **states)
        rows, length = source.shape
        wide = _repeat_last(_widen(source))
        begin = None if prefix is None else _repeat_last(_widen(prefix))
        found = run(wide, begin, *more, **states)
        weights = found.weights
        if weights is not None and weights.shape[-1] != wide.shape[1]:
            keeps_length = False
            return run(source, prefix, *more, **states)
        found = [None if x is None else x[:rows] for x in found]
        if weights is not None:
            found[-1] = found[-1][..., :length]
        return Generation(*found)

    return resized


def _size(n):
    return SIZES[bisect.bisect_left(SIZES, n)] if n > 1 else n


def _repeat_last(x):
    missing = _size(x.shape[0]) - x.shape[0]
    return ops.concatenate([x, ops.repeat(x[-1:], missing, axis=0)])


def _widen(x):
    length = x.shape[1]
    return ops.pad(x, [[0, 0], [0, _size(max(length, SHORTEST)) - length]])
