"""Compiled generation, at a few sizes of batch and source."""

import bisect
from collections.abc import Callable

import keras
from keras import ops

from keras_attention.ops.fast_paths import fast_path
from keras_attention.search import Generation

# XLA compiles once per shape. With these sizes at most a third of the tokens
# is padding, and lengths up to a hundred need less than ten of them.
SIZES = sorted(n << k for k in range(20) for n in (2, 3))
SHORTEST = 8
KEPT = 8  # number of compiled functions that are kept, one per search


def generation_compiler(model):
    """Make a function that compiles generation, once for each search.

    Args:
        model: The model that generates. `compile(jit_compile=True)` selects
            XLA on TensorFlow.

    Returns:
        A function `compiled_generation(generate, search)`. Its arguments are
        a function from a source and a prefix to a `Generation`, and the
        search that this function runs. It returns the compiled function.
    """
    kept = {}

    def compiled_generation(generate, search):
        generators = [
            value
            for value in vars(search).values()
            if isinstance(value, keras.random.SeedGenerator)
        ]
        xla = bool(model.compiled and model.jit_compile)
        key = type(search), repr(search.get_config()), *map(id, generators), xla
        if key not in kept:
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept)))
            seeds = [generator.state for generator in generators]
            compiled = fast_path("compiled")
            run = compiled(generate, model.variables, seeds, xla)
            if xla or keras.backend.backend() == "jax":
                run = at_few_sizes(run)
            kept[key] = run
        return kept[key]

    return compiled_generation


def at_few_sizes(run: Callable):
    """Wrap generation so that sources of ids have sizes in `SIZES` only.

    Sources are padded with zeros, which do not change a result. The batch is
    filled up with copies of the last row, which end when it ends. If the
    encoder changes the length, the padding cannot be cut off the attention
    weights, so such a model runs at the original sizes.

    Args:
        run: Function from a source `(B, Tv)` and a prefix to a `Generation`.

    Returns:
        A function with the same arguments and results.
    """
    keeps_length = True

    def resized(source, prefix):
        nonlocal keeps_length
        # Padded features may be unmasked; an empty batch has no last row.
        if len(source.shape) != 2 or not source.shape[0] or not keeps_length:
            return run(source, prefix)
        rows, length = source.shape
        wide = _repeat_last(_widen(source))
        begin = None if prefix is None else _repeat_last(_widen(prefix))
        found = run(wide, begin)
        weights = found.weights
        if weights is not None and weights.shape[-1] != wide.shape[1]:
            keeps_length = False
            return run(source, prefix)
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
