"""Shapes and dtypes of a function's results, without running it."""

from collections.abc import Callable

import keras


class _Operation(keras.Operation):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, *arguments):
        return self.function(*arguments)


def symbolic_result(function: Callable, *arguments: keras.KerasTensor):
    """Infer the shapes and dtypes of a function's results.

    Args:
        function: Function from tensors to any structure of tensors.
        *arguments: Symbolic tensors.

    Returns:
        The same structure of `keras.KerasTensor`s.
    """
    return _Operation(function).compute_output_spec(*arguments)
