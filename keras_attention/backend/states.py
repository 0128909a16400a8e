"""Functions that run with other variables' states in place of their own."""

from collections.abc import Callable

import keras


def run_with_states(function: Callable, arguments, seeds, states):
    """Run a function with the states of other random generators.

    Args:
        function: Function whose random numbers come from `seeds`.
        arguments: Its arguments.
        seeds: Keras variables, the states of its own generators.
        states: Variables to read and change in their place, one for each.

    Returns:
        Its result.
    """
    if not seeds:  # the function may change other variables
        return function(*arguments)
    pairs = zip(seeds, states, strict=True)
    with keras.StatelessScope(pairs) as scope:
        result = function(*arguments)
    for seed, state in zip(seeds, states, strict=True):
        state.assign(scope.get_current_value(seed))
    return result
