"""Compiled generation, in programs that searches share."""

import threading

import keras
import numpy as np
from keras import tree

from keras_attention.layers import obeys_masks
from keras_attention.models.generation import at_few_sizes
from keras_attention.models.generation import fitting_size
from keras_attention.ops.fast_paths import fast_path
from keras_attention.search import AbstractSearch

KEPT = 16  # number of programs that are kept
PLAIN = (bool, int, float, str, type(None))


class TracedModel:
    """What a compiled program of a model has in it, beside values of weights.

    It is another one after a layer got other variables, as by `enable_lora`
    and `quantize`, after `harden`, and where another compiler is selected.

    Args:
        model: A `Seq2Seq`.
    """

    def __init__(self, model):
        self.variables = list(model.variables)
        self.changes = model.changes
        self.xla = bool(model.compiled and model.jit_compile)

    def __eq__(self, other) -> bool:
        if not isinstance(other, TracedModel):
            return NotImplemented
        pairs = zip(self.variables, other.variables, strict=False)
        return (
            (self.changes, self.xla) == (other.changes, other.xla)
            and len(self.variables) == len(other.variables)
            and all(x is y for x, y in pairs)
        )

    __hash__ = None


class SharedPrograms:
    """Compiles the generation of a model.

    Searches that differ only in what a program takes as tensors, such as the
    seed, share one. Threads may share the object.

    Args:
        model: The model that generates. `compile(jit_compile=True)` selects
            XLA on TensorFlow.
    """

    def __init__(self, model):
        self.model = model
        self.traced = None  # the `TracedModel` of what is kept
        self.kept = {}
        self.lock = threading.Lock()

    def generate(
        self, source, search, prefix, attends: bool = True, shortlist=None
    ):
        """Generate by a compiled program.

        Args:
            source: Ids `(B, Tv)` or features `(B, Tv, D)`.
            search: An `AbstractSearch`, or a function like one.
            prefix: Ids `(B, P)`, or `None`.
            attends: Whether to keep the weights. Defaults to `True`.
            shortlist: A `Shortlist`, whose programs are its own, or `None`.
                Defaults to `None`.

        Returns:
            A `Generation`.
        """
        numbers = _numbers(search)
        states = [generator.state for generator in _generators(search)]
        program = self._program(search, attends, shortlist)
        found = program(source, prefix, numbers, states=states)
        return _cut(found, search) if "limit" in numbers else found

    def _program(self, search, attends, shortlist):
        # The key keeps the shortlist, so that no other gets its identity.
        same = (*_identity(search), attends, shortlist)
        traced = TracedModel(self.model)
        with self.lock:
            if traced != self.traced:
                self.traced, self.kept = traced, {}
            rooms = [x for (*other, x) in self.kept if tuple(other) == same]
            room = _room(search, rooms)
            key = (*same, room)
            program = self.kept.pop(key, None)
            if program is None:
                program = self._compile(search, attends, shortlist, room)
            self.kept[key] = program  # the one used last is at the end
            while len(self.kept) > KEPT:
                self.kept.pop(next(iter(self.kept)))
        return program

    def _compile(self, search, attends, shortlist, room):
        """Compile generation with any search that is like this one."""
        model, traced = self.model, self.traced

        def generate(source, prefix, numbers):
            traced = _traced(search, room, numbers)
            return model._generate(source, traced, prefix, attends, shortlist)

        seeds = [generator.state for generator in _generators(search)]
        run = fast_path("compiled")(
            generate, traced.variables, seeds, traced.xla
        )
        if traced.xla or fast_path("COMPILES_EACH_SHAPE", False):
            run = at_few_sizes(run, pads=obeys_masks(model.encoder))
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
    """Return the size of the buffers for the texts, one in use if it fits.

    The first limit gets what it needs, since every step writes all of it.
    """
    if "max_length" not in _tensor_options(search):
        return None
    length = search.max_length
    fitting = [room for room in rooms if length <= room <= 2 * length]
    return min(fitting, default=fitting_size(length) if rooms else length)


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
