"""Operations that a training loop can record and differentiate itself.

A step of a recurrent network consists of products with constants (weights, the
source's keys and values) and of cheap arithmetic between them. Each kind of
product is an `Operation`. Outside a training loop, an operation simply runs;
inside a training loop, a recorder intercepts it: see `ops/replay.py`.
"""

import contextlib
import contextvars
import functools
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import keras
from keras.backend import standardize_dtype

from keras_attention.backend import backend
from keras_attention.backend import ops


class _Loop(NamedTuple):
    recorder: Any = None
    portable: bool = False  # whether it is traced for another runtime


OUTSIDE = _Loop()
_loop = contextvars.ContextVar("loop", default=OUTSIDE)


class Operation(NamedTuple):
    """A function of one operand and of constants, with its gradients.

    Attributes:
        run: Function from `(x, *constants)` to the result.
        vjp: Function from the result's cotangent `dy`, `x` and the constants
            to the cotangent of `x`. If `constants_vjp` is `None`, it returns a
            list: the cotangents of `x` and of each constant.
        constants_vjp: Function from the cotangents and operands of all steps,
            with time on axis 0, and the constants to the list of the
            constants' cotangents, `None` for those of no further use.
        prepare: Function from the constants to what `vjp` takes in their place,
            such as a transposed kernel, computed once for all steps. `None`
            if `vjp` takes the constants.
    """

    run: Callable
    vjp: Callable
    constants_vjp: Callable | None = None
    prepare: Callable | None = None


def perform(operation: Operation, x, *constants):
    """Run an operation, by the recorder if there is one.

    Args:
        operation: The operation.
        x: Its operand, which may change from step to step.
        *constants: Its other arguments: tensors or Keras variables.

    Returns:
        The result, as `operation.run` returns it.
    """
    recorder = _loop.get().recorder
    if recorder is None:
        return operation.run(x, *constants)
    return recorder.perform(operation, x, *constants)


def hoist(function: Callable, *constants):
    """Compute once per loop a value that is the same at all steps.

    Outside a loop with a recorder, the value is computed at every call.

    Args:
        function: Function from the constants to one tensor. It may close over
            numbers, strings, layers and functions, which distinguish it from
            other functions.
        *constants: Tensors or Keras variables that are the same at each step.

    Returns:
        The tensor.

    Raises:
        TypeError: In a loop, if `function` closes over another object.
    """
    recorder = _loop.get().recorder
    if recorder is None:
        return function(*constants)
    return recorder.hoist(function, *constants)


def dtype_of(constant) -> str:
    """Return the dtype that a constant has in a loop.

    That of a Keras variable depends on the autocast scope of a layer's call,
    in which the loop runs, but not its gradient.

    Args:
        constant: A tensor or a Keras variable.
    """
    recorder = _loop.get().recorder
    if recorder is not None:
        constant = recorder.value(constant)
    return standardize_dtype(constant.dtype)


def hoists(*constants) -> bool:
    """Return whether `hoist` computes once for many steps.

    Args:
        *constants: Tensors or Keras variables that its function takes.
    """
    recorder = _loop.get().recorder
    return recorder is not None and all(map(recorder.knows, constants))


def recording(recorder):
    """Send all operations of a `with` block to a recorder."""
    return _changed(recorder=recorder)


def portable_program():
    """Trace for another runtime in a `with` block, without gradients.

    Products are unchanged, because such a runtime stores kernels and multiplies
    in its own way. Shapes are computed so that LiteRT can plan all memory in
    advance, instead of in each step of a loop.
    """
    return _changed(portable=True)


def is_portable() -> bool:
    """Return whether a program for another runtime is traced."""
    return _loop.get().portable


@contextlib.contextmanager
def _changed(**fields):
    loop = _loop.get()._replace(**fields)
    token = _loop.set(loop)
    try:
        yield loop.recorder
    finally:
        _loop.reset(token)


PLAIN = (type(None), bool, int, float, str, bytes, slice)


class AbstractHoister:
    """Computes what is constant over the steps of a loop once.

    The constants of a loop are recognized by identity.

    Args:
        variables: Keras variables, whose values come first in `constants`.
        constants: All constants of the loop, the hoisted ones last.
        hoisted: Numbers of the hoisted constants, by the function that computes
            each and the numbers of its arguments. Defaults to `None`: those of
            the first step, which adds to them and to `constants`.
    """

    def __init__(self, variables, constants, hoisted: dict | None = None):
        self.constants = list(constants)
        # An id is unique only while its object lives: keep the objects.
        self.known = [*variables, *self.constants[len(variables) :]]
        self.index = {id(x): k for k, x in enumerate(self.known)}
        self.is_first = hoisted is None
        self.hoisted = {} if hoisted is None else hoisted

    def knows(self, constant) -> bool:
        """Return whether a tensor or variable is a constant of this loop."""
        return id(constant) in self.index

    def value(self, constant):
        """Return the value that a constant has in this loop."""
        number = self.index.get(id(constant))
        return constant if number is None else self.constants[number]

    def hoist(self, function, *constants):
        """Return a hoisted constant; see `ops.operations.hoist`."""
        numbers = [self.index.get(id(x)) for x in constants]
        if None in numbers:
            return function(*constants)
        key = *_identity(function), *numbers
        if key in self.hoisted:
            return self.constants[self.hoisted[key]]
        tensor = function(*[self.constants[k] for k in numbers])
        if self.is_first:
            self.hoisted[key] = self.index[id(tensor)] = len(self.constants)
            self.constants.append(tensor)
        return tensor

    def perform(self, operation, x, *constants):
        """Run an operation; see `ops.operations.perform`."""
        return operation.run(x, *constants)


def _identity(x):
    """Return a tuple that identifies a function or a plain value.

    Code is identified by numbers and strings, because `torch.compile` writes
    the keys of dictionaries as Python.
    """
    if isinstance(x, PLAIN):
        return (repr(x),)
    if isinstance(x, tuple | list):
        parts = x
    elif isinstance(x, functools.partial):
        parts = x.func, *x.args, *sorted(x.keywords.items())
    elif isinstance(x, keras.Layer):  # lives as long as the loop
        return (id(x),)
    elif hasattr(x, "__func__"):
        parts = x.__self__, x.__func__
    elif hasattr(x, "__code__"):
        cells = [cell.cell_contents for cell in x.__closure__ or ()]
        options = sorted((x.__kwdefaults__ or {}).items())
        parts = hash(x.__code__), *cells, *(x.__defaults__ or ()), *options
    elif callable(x):  # without code, such as a class
        return (x,)
    else:
        raise TypeError(
            "`hoist` needs a function that closes over only numbers, strings, "
            "layers and functions. Received: a function that closes over "
            f"{x!r}. Pass tensors and variables as `constants`."
        )
    return len(parts), *(y for part in parts for y in _identity(part))


class Hoister(AbstractHoister):
    """Runs the operations of a step that needs no gradient."""


class AbstractRecorder(AbstractHoister):
    """Runs the operations of a step, and records them.

    An operation whose constants the step itself computed is not recorded.

    Args:
        *arguments: Arguments of `AbstractHoister`.
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.operations = []  # pairs: operation, indices of its constants
        self.operands = []
        self.results = []

    def perform(self, operation, x, *constants):
        numbers = [self.index.get(id(x)) for x in constants]
        if operation.constants_vjp:
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


class Recorder(AbstractRecorder):
    """Runs and records the operations of a step."""


class Replayer(AbstractRecorder):
    """Replays recorded results, each with the gradient of its operation.

    Args:
        kept: Results of the operations, in their order.
        prepared: Results of `prepare` for each operation, or `None`.
        *arguments: Arguments of `AbstractHoister`.
    """

    def __init__(self, kept, prepared, *arguments):
        super().__init__(*arguments)
        self.kept = kept
        self.prepared = prepared

    def _result(self, operation, x, constants):
        count = len(self.results)
        prepared = []
        if operation.constants_vjp:  # computed after the loop
            prepared = [ops.stop_gradient(y) for y in constants]
            prepared = self.prepared[count] or prepared
            constants = []

        def replayed(x, kept, *constants):
            def gradient(dy):
                found = operation.vjp(dy, x, *prepared, *constants)
                dx, *rest = found if constants else [found]
                return (dx, dy, *rest)

            return kept, gradient

        kept = self.kept[count]
        return backend.custom_gradient(replayed)(x, kept, *constants)


def hoister(variables) -> Callable:
    """Create a context that computes hoisted values once for all steps.

    Use it for Python loops, and for loops without a gradient. The first step,
    which is called before the loop, computes the hoisted values; later steps
    reuse them.

    Args:
        variables: Keras variables, and tensors from outside the loop, that
            hoisted values may depend on.

    Returns:
        A function without arguments that returns a context manager. Run each
        step in its `with` block.
    """
    first = None

    def hoisted():
        nonlocal first
        if first is None:
            first = Hoister(variables, variables)
            return recording(first)
        return recording(Hoister(variables, first.constants, first.hoisted))

    return hoisted
