"""Compiled programs of a model, which are kept until the model changes."""

import bisect
import operator
import threading
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Sequence
from typing import Any

from keras_attention.backend import backend

# Where each shape is compiled, these are the sizes of batches and sources. At
# most a third of the tokens is padding, and lengths up to a hundred need less
# than ten of them.
SIZES = sorted(n << k for k in range(20) for n in (2, 3))


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
