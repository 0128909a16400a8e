"""Shapes and dtypes of what a function returns, without running it."""

from collections.abc import Callable

import keras


class _Operation(keras.Operation):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, *arguments):
        return self.function(*arguments)


def symbolic_result(function: Callable, *arguments: keras.KerasTensor):
    """Return what a function would give, as `KerasTensor`s.

    Args:
        function: From tensors to any structure of tensors.
        *arguments: Symbolic tensors.
    """
    return _Operation(function).compute_output_spec(*arguments)
