"""Recorders that intercept the operations of a step."""

import collections
import functools
from collections.abc import Callable

from keras import ops

from keras_attention.ops.fast_paths import fast_path
from keras_attention.ops.operations import recording


class AbstractRecorder:
    """Runs operations, and records them with their operands and results.

    The constants of a loop are recognized by identity. An operation with
    other constants, which the step itself computed, runs unrecorded.

    Args:
        variables: Keras variables, whose values come first in `constants`.
        constants: All constants of the loop, the hoisted ones last.
        hoisted: Indices of hoisted constants by what they are: the code that
            computed them and the indices of what it took. A `Probe` fills it.
            Defaults to none.
    """

    def __init__(self, variables, constants, hoisted: dict | None = None):
        self.constants = list(constants)
        # An id is unique only while its object lives: keep the objects.
        self.known = [*variables, *self.constants[len(variables) :]]
        self.index = {id(x): k for k, x in enumerate(self.known)}
        self.hoisted = {} if hoisted is None else hoisted
        self.asked = collections.Counter()
        self.operations = []  # pairs: operation, indices of its constants
        self.operands = []
        self.results = []

    def _numbers(self, constants):
        return [self.index.get(id(x)) for x in constants]

    def knows(self, constant) -> bool:
        """Return whether a tensor or variable is a constant of this loop."""
        return id(constant) in self.index

    def value(self, constant):
        """Return the value that a constant has in this loop."""
        number = self.index.get(id(constant))
        return constant if number is None else self.constants[number]

    def hoist(self, function, *constants):
        """Return a hoisted constant; see `ops.operations.hoist`."""
        numbers = self._numbers(constants)
        if None in numbers:
            return function(*constants)
        kind = _code(function), *numbers
        self.asked[kind] += 1
        found = self.hoisted.get(kind, [])[self.asked[kind] - 1 :]
        if found:
            return self.constants[found[0]]
        tensor = function(*[self.constants[k] for k in numbers])
        self._keep(tensor, kind)
        return tensor

    def _keep(self, tensor, kind):
        pass

    def perform(self, operation, x, *constants):
        """Run and record an operation; see `ops.operations.perform`."""
        numbers = self._numbers(constants)
        if operation.late:
            if None in numbers:
                return operation.run(x, *constants)
            constants = [self.constants[k] for k in numbers]
        result = self._result(operation, x, constants)
        self.operations.append((operation, numbers))
        self.operands.append(x)
        self.results.append(result)
        return result

    def _result(self, operation, x, constants):
        return operation.run(x, *constants)


def _code(function):
    """Return the hash of the code of a function, a method or a partial of one.

    A number, since `torch.compile` writes the keys of dictionaries as Python.
    """
    while isinstance(function, functools.partial):
        function = function.func
    return hash(getattr(function, "__code__", function))


class Recorder(AbstractRecorder):
    """Runs and records the operations of a step."""


class Probe(AbstractRecorder):
    """Runs the first step, and computes the hoisted constants."""

    def _keep(self, tensor, kind):
        self.hoisted.setdefault(kind, []).append(len(self.constants))
        self.index[id(tensor)] = len(self.constants)
        self.constants.append(tensor)


class Replayer(AbstractRecorder):
    """Replays recorded results, each with the gradient of its operation.

    Args:
        kept: Results of the operations, in their order.
        turned: Results of `turn` for each operation, or `None`.
        *arguments: Arguments of `AbstractRecorder`.
    """

    def __init__(self, kept, turned, *arguments):
        super().__init__(*arguments)
        self.kept = kept
        self.turned = turned

    def _result(self, operation, x, constants):
        count = len(self.results)
        late = []
        if operation.late:  # the constants' gradients follow after the loop
            late = [ops.stop_gradient(y) for y in constants]
            late = self.turned[count] or late
            constants = []

        def replayed(x, kept, *constants):
            def gradient(dy):
                pulled = operation.pull(dy, x, *late, *constants)
                dx, *rest = pulled if constants else [pulled]
                return (dx, dy, *rest)

            return kept, gradient

        kept = self.kept[count]
        return fast_path("custom_gradient")(replayed)(x, kept, *constants)


def hoister(variables) -> Callable:
    """Make what computes hoisted values once for all steps of a loop.

    It is for loops of Python, and for those without a gradient. The first step,
    which is called before the loop, computes the hoisted values; later ones
    reuse them.

    Args:
        variables: Keras variables, and tensors from outside of the loop, that
            hoisted values may depend on.

    Returns:
        A function without arguments. Each step runs in a `with` block of what
        it returns.
    """
    probe = None

    def hoisted():
        nonlocal probe
        if probe is None:
            probe = Probe(variables, variables)
            return recording(probe)
        recorder = Recorder(variables, probe.constants, probe.hoisted)
        return recording(recorder)

    return hoisted
