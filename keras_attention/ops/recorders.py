"""Who performs the operations of a step while a loop is being trained."""

from keras import ops

from keras_attention.ops.fast_paths import fast_path
from keras_attention.ops.operations import recording


class AbstractRecorder:
    """Performs operations, and keeps what they took and gave.

    It knows the constants of its loop by identity: an operation whose
    constants are others, since a step made them, is not kept but run.

    Args:
        variables: Keras variables, whose values come first in `constants`.
        constants: All constants of the loop, those that are hoisted last.
        hoisted: How many those are.
    """

    def __init__(self, variables, constants, hoisted=0):
        self.constants = list(constants)
        # An id lasts as long as what it belongs to, which is kept here.
        self.known = [*variables, *self.constants[len(variables) :]]
        self.index = {id(x): k for k, x in enumerate(self.known)}
        self.next_hoisted = len(self.constants) - hoisted
        self.operations = []  # pairs: operation, the numbers of its constants
        self.operands = []
        self.results = []

    def _numbers(self, constants):
        return [self.index.get(id(x)) for x in constants]

    def hoist(self, function, *constants):
        numbers = self._numbers(constants)
        if None in numbers:
            return function(*constants)
        self.next_hoisted += 1
        return self._hoisted(function, numbers)

    def _hoisted(self, function, numbers):
        return self.constants[self.next_hoisted - 1]

    def perform(self, operation, x, *constants):
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


class Recorder(AbstractRecorder):
    """Runs the operations of a step."""


class Probe(AbstractRecorder):
    """Runs a step for the first time, and hoists what can be."""

    def _hoisted(self, function, numbers):
        tensor = function(*[self.constants[k] for k in numbers])
        self.index[id(tensor)] = len(self.constants)
        self.constants.append(tensor)
        return tensor


class Replayer(AbstractRecorder):
    """Gives the results that a recorder kept, each with its gradient.

    Args:
        kept: What the operations gave, in their order.
        turned: What their `turn` made of their constants, or `None`.
        *arguments: As of `AbstractRecorder`.
    """

    def __init__(self, kept, turned, *arguments):
        super().__init__(*arguments)
        self.kept = kept
        self.turned = turned

    def _result(self, operation, x, constants):
        count = len(self.results)
        late = []
        if operation.late:  # the constants take no part in this gradient
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


def hoisting(step, variables):
    """Let a step of a loop without a gradient compute only what changes.

    Args:
        step: Any function, which is called once before the loop, and in it.
        variables: Those on whose values its hoisting may depend.

    Returns:
        A function that does the same; what the first call hoists, later calls
        take.
    """
    probe = None

    def hoisted(*arguments):
        nonlocal probe
        if probe is None:
            recorder = probe = Probe(variables, variables)
        else:
            count = len(probe.constants) - len(variables)
            recorder = Recorder(variables, probe.constants, count)
        with recording(recorder):
            return step(*arguments)

    return hoisted
