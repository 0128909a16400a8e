"""Functions that run as the steps of a search do."""

from keras_attention.ops.operations import hoister


def hoisting(step, variables):
    """Compute hoisted values in the first call of a step, and reuse them."""
    hoisted = hoister(variables)

    def run(*arguments):
        with hoisted():
            return step(*arguments)

    return run
