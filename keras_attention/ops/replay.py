"""Loops over time for training, masked or not, with a gradient of their own.

The forward loop keeps the results of the step's operations
(`ops/operations.py`). The backward loop replays the step: each operation
returns its kept result instead of recomputing it, and the cheap arithmetic
between operations is differentiated as usual. This needs little memory.
Gradients of weights are not computed inside the loop: after the loop, the
operands and the cotangents of all steps are multiplied in one product.
"""

import contextlib
from collections.abc import Callable

import keras
from keras import tree

from keras_attention.backend import backend
from keras_attention.backend import ops
from keras_attention.ops.loops import loop_over_time
from keras_attention.ops.numerics import cast
from keras_attention.ops.operations import Recorder
from keras_attention.ops.operations import Replayer
from keras_attention.ops.operations import hoister
from keras_attention.ops.operations import recording


def masked_loop(
    step: Callable,
    states,
    inputs,
    real,
    blank,
    steps,
    layer,
    constants=(),
    training: bool | None = None,
    reverse: bool = False,
    masked_outputs: Callable | None = None,
):
    """Run a step over time, with a fast gradient; masked steps keep the states.

    Forward-mode and second derivatives are not supported: they raise an error,
    unless `training` is `False`. If `training` is `None`, forward mode uses the
    plain loop. A backend without custom gradients always uses the plain loop.

    Args:
        step: Function from `(layer, states, inputs of one step, constants)` to
            the next states and a list of outputs `(B, ...)`, of any dtype. It
            receives the layer as an argument, because a graph must not keep it.
        states: List of tensors `(B, ...)` before the first step.
        inputs: Structure of tensors with time on axis 0; `None` stays `None`.
        real: Boolean `(T, B)`, `True` at valid steps, or `None` for all.
        blank: List of zeros, with the shape and dtype of each output: the
            outputs of a masked step.
        steps: Number of steps, an integer or a scalar tensor.
        layer: An object with the `variables` that the step reads.
        constants: Structure of the tensors that every step reads. Defaults to
            none.
        training: `False` selects the plain loop, which supports all
            derivatives. Defaults to `None`.
        reverse: As in `loop_over_time`. Defaults to `False`.
        masked_outputs: Function from the states to the outputs of a masked
            step. Defaults to `None`, which uses `blank`.

    Returns:
        The final states, and a list of outputs with time on axis 0.
    """
    states, inputs = list(states), [inputs, real]

    def masked_step(layer, states, inputs, constants):
        inputs, real = inputs
        after, outputs = step(layer, states, inputs, constants)
        kept = blank if masked_outputs is None else masked_outputs(states)
        return freeze(real, after, states), freeze(real, outputs, kept)

    has_gradients = all(map(is_float, [*states, *blank]))
    if training is not False and has_gradients and backend.has_custom_gradients:
        own = PureStep(masked_step, inputs, layer, constants)
        try:
            return _Loop(own, states, blank, steps, reverse).run(states)
        except backend.TransformationError:
            if training:
                raise

    hoisted = contextlib.nullcontext
    if backend.plain_loop == "python":  # others are graphs of their own
        hoisted = hoister([*layer.variables, *tree.flatten(constants)])

    def plain(states, inputs):
        with hoisted():
            return masked_step(layer, states, inputs, constants)

    return loop_over_time(plain, states, inputs, blank, steps, reverse)


def freeze(mask, new, old):
    """Keep the old tensors of rows whose step is masked.

    Args:
        mask: Boolean `(B,)`, `True` where the step is valid, or `None` if it is
            valid in all rows.
        new: List of tensors `(B, ...)` after the step.
        old: List of tensors before the step, which broadcast to `new`.

    Returns:
        List of tensors `(B, ...)`, in the dtypes of the old ones.
    """

    def choose(x, y):
        x = cast(x, y.dtype)
        if mask is None:
            return x
        shape = (-1, *[1] * (len(x.shape) - 1))
        return ops.where(ops.reshape(mask, shape), x, y)

    return [choose(x, y) for x, y in zip(new, old, strict=True)]


def last_real(x, mask=None):
    """Return the last unmasked step of each row.

    Args:
        x: `(B, T, D)`, zero at masked steps.
        mask: Boolean `(B, T)`, `True` at valid steps, or `None` for all.

    Returns:
        `(B, D)`, zeros in rows without a valid step.
    """
    if mask is None:
        return x[:, -1]
    positions = ops.arange(ops.shape(x)[1], dtype="int32")
    last = ops.max(ops.where(mask, positions, 0), axis=1)
    last = ops.reshape(last, (-1, 1, 1))
    return ops.squeeze(ops.take_along_axis(x, last, axis=1), axis=1)


def _zeros(tensors):
    return [ops.zeros(ops.shape(x), x.dtype) for x in tensors]


def _zeros_of_a_step(tensors):
    return [
        None if x is None else ops.zeros(ops.shape(x)[1:], x.dtype)
        for x in tensors
    ]


def _or_zeros(cotangents, tensors):
    return [
        ops.zeros_like(x) if dx is None else dx
        for dx, x in zip(cotangents, tensors, strict=True)
    ]


class _Loop:
    """The forward loop and the backward loop of one step.

    It holds the loop's constants, given or hoisted, and zeros in the shapes
    of a step's arguments and results.
    """

    def __init__(self, step, carry, blank, length, reverse=False):
        self.step, self.length, self.reverse = step, length, reverse
        self.loop = backend.fastest_loop(loop_over_time)
        self.carry, self.outputs = _zeros(carry), _zeros(blank)
        self.floats = _zeros_of_a_step(step.inputs.floats)
        self.rest = _zeros_of_a_step(step.inputs.rest)
        probe = step.recorder(Recorder, step.given)
        step.run(probe, self.carry, self.floats, self.rest)
        step.hoisted = probe.hoisted
        self.constants, self.operations = probe.constants, probe.operations
        self.operands, self.results = map(
            _zeros, (probe.operands, probe.results)
        )

    def run(self, carry):
        """Run all steps; return the final carry and the outputs of all."""
        floats = self.step.inputs.floats

        def function(*arguments):
            arguments = split(arguments, len(carry), len(floats))
            ends, outputs, kept = self.forward(*arguments)

            def gradient(*cotangents):
                found = self.backward(*arguments, kept, cotangents)
                return tuple(_once(x) for part in found for x in part)

            return (*ends, *outputs), gradient

        results = backend.custom_gradient(function)(
            *carry, *floats, *self.constants
        )
        return split(results, len(carry))

    def forward(self, carry, floats, constants):
        """Run all steps, and keep what the backward loop needs.

        Returns:
            Lists: the final carry; the outputs; for each step, the carry
            before it and the results of its operations.
        """

        def step(carry, inputs):
            recorder = self.step.recorder(Recorder, constants)
            after, outputs = self.step.run(recorder, carry, *inputs)
            return after, [*outputs, *carry, *recorder.results]

        inputs = [floats, self.step.inputs.rest]
        blank = [*self.outputs, *self.carry, *self.results]
        ends, every = self.loop(
            step, carry, inputs, blank, self.length, self.reverse
        )
        return ends, *split(every, len(self.outputs))

    def backward(self, carry, floats, constants, kept, cotangents):
        """Pull cotangents back through all steps, from the last to the first.

        Returns:
            Lists of the cotangents of the initial carry, of the inputs and of
            the constants.
        """
        kept = split(kept, len(carry))
        dcarry, doutputs = split(cotangents, len(carry))
        prepared = self._prepared(constants)
        summed = self._read_by_the_step(constants, prepared)

        def step(state, inputs):
            *taken, doutputs = inputs
            dcarry, sums = split(state, len(carry))
            (dcarry, dfloats, dresults, found), operands = self._step_vjp(
                *taken, constants, prepared, [*dcarry, *doutputs]
            )
            sums = [x + found[k] for x, k in zip(sums, summed, strict=True)]
            return [*dcarry, *sums], [*dfloats, *dresults, *operands]

        state, every = self.loop(
            step,
            [*dcarry, *[ops.zeros_like(constants[k]) for k in summed]],
            [*kept, floats, self.step.inputs.rest, doutputs],
            [*self.floats, *self.results, *self.operands],
            self.length,
            not self.reverse,
        )
        dcarry, sums = split(state, len(carry))
        dfloats, dresults, operands = split(
            every, len(floats), len(self.results)
        )
        found = self._constants_vjp(constants, dresults, operands)
        found.extend(zip(summed, sums, strict=True))
        return dcarry, dfloats, _gather(found, constants)

    def _step_vjp(
        self, carry, results, floats, rest, constants, prepared, cotangents
    ):
        """Replay one step, and compute its vector-Jacobian product.

        Returns:
            Lists of the cotangents of carry, inputs, results and constants
            (`None` where there is none), and the operations' operands.
        """

        def replay(carry, floats, results, constants):
            recorder = self.step.recorder(
                Replayer, constants, results, prepared
            )
            after, outputs = self.step.run(recorder, carry, floats, rest)
            return [*after, *outputs], recorder.operands

        arguments = [carry, floats, results, constants]
        operands, vjp = backend.vjp(replay, arguments)
        *found, of_constants = vjp(cotangents)
        pairs = zip(found, arguments[:-1], strict=True)
        return [*[_or_zeros(*pair) for pair in pairs], of_constants], operands

    def _prepared(self, constants):
        """Call `prepare` of every operation, once for all steps."""
        return [
            operation.prepare
            and operation.prepare(*[constants[k] for k in numbers])
            for operation, numbers in self.operations
        ]

    def _read_by_the_step(self, constants, prepared):
        """Return the indices of constants that the step uses directly."""
        inputs = [self.carry, self.results, self.floats, self.rest]
        zeros = [*self.carry, *self.outputs]
        (*_, found), _ = self._step_vjp(*inputs, constants, prepared, zeros)
        return [k for k, x in enumerate(found) if x is not None]

    def _constants_vjp(self, constants, dresults, operands):
        """Return indices and gradients of the operations' constants."""
        found = []
        for (operation, numbers), dy, x in zip(
            self.operations, dresults, operands, strict=True
        ):
            if operation.constants_vjp:
                own = operation.constants_vjp(
                    dy, x, *[constants[k] for k in numbers]
                )
                found.extend(zip(numbers, own, strict=True))
        return found


def _gather(found, constants):
    """Add up the gradients of each constant."""
    gradients = [None] * len(constants)
    for k, x in found:
        if x is not None:
            gradients[k] = x if gradients[k] is None else gradients[k] + x
    return _or_zeros(gradients, constants)


def _once(x):
    """Raise an error in a second derivative, which would be wrong."""

    def gradient(*_):
        raise NotImplementedError(
            "The training loop of a decoder or encoder supports only first "
            "derivatives. For more derivatives, call the layer with "
            "training=False."
        )

    return backend.custom_gradient(lambda x: (x, gradient))(x)


def is_float(x) -> bool:
    """Return whether a tensor or a variable has a float dtype."""
    if x is None:
        return False
    dtype = keras.backend.standardize_dtype(x.dtype)
    return keras.backend.is_float_dtype(dtype)


def split(tensors, *sizes: int) -> list[list]:
    """Split a list into lists of these sizes, and the rest."""
    parts, left = [], list(tensors)
    for size in sizes:
        parts.append(left[:size])
        left = left[size:]
    return [*parts, left]


class PureStep:
    """Runs a step with given values of its layer's variables.

    Args:
        step: As in `masked_loop`.
        inputs: Structure of the inputs of all steps.
        layer: What has the `variables` that the step reads. A graph refers to
            it weakly: what keeps the graph must not keep the layer.
        constants: Structure of the tensors that every step reads.
    """

    def __init__(self, step: Callable, inputs, layer, constants):
        self.step = step
        refer = backend.reference_to
        self.layer = refer(layer)
        self._variables = [refer(x) for x in layer.variables if is_float(x)]
        self.inputs, self.constants = _Parts(inputs), _Parts(constants)
        values = [ops.convert_to_tensor(x.value) for x in self.variables]
        self.given = [*values, *self.constants.floats]
        self.hoisted = None  # before the first step

    @property
    def variables(self) -> list:
        """The float variables of the layer."""
        if self.layer() is None:
            raise RuntimeError(
                "The gradient of a training loop needs its layer, which was "
                "deleted. Keep the model as long as its graph."
            )
        return [x() for x in self._variables]

    def recorder(self, kind: type, constants, *arguments):
        """Make a recorder of a kind for given or hoisted constants."""
        return kind(*arguments, self.variables, constants, self.hoisted)

    def run(self, recorder, carry, floats, rest):
        """Run one step with the constants of the recorder."""
        variables = self.variables
        values, constants, _ = split(
            recorder.constants, len(variables), len(self.constants.floats)
        )
        constants = self.constants.join(constants, self.constants.rest)
        inputs = self.inputs.join(floats, rest)
        pairs = [*zip(variables, values, strict=True)]
        with recording(recorder), keras.StatelessScope(pairs):
            return self.step(self.layer(), carry, inputs, constants)


class _Parts:
    """Splits a structure into float tensors and the rest."""

    def __init__(self, structure):
        self.structure = structure
        leaves = tree.flatten(structure)
        self.is_float = [is_float(x) for x in leaves]
        self.floats = [x for x in leaves if is_float(x)]
        self.rest = [x for x in leaves if not is_float(x)]

    def join(self, floats, rest):
        floats, rest = iter(floats), iter(rest)
        leaves = [next(floats if yes else rest) for yes in self.is_float]
        return tree.pack_sequence_as(self.structure, leaves)
