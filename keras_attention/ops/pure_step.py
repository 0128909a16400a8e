"""A step of a loop as a pure function, with its variables as arguments."""

from collections.abc import Callable

import keras
from keras import ops
from keras import tree

from keras_attention.backend import backend
from keras_attention.ops.operations import recording


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
        step: As in `trainable_loop`.
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
                "A training loop needs its layer for the gradient, and the "
                "layer was deleted. Keep the model as long as its graph."
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
