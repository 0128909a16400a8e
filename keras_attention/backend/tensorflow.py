"""What TensorFlow does better than `keras.ops` alone."""

import tensorflow as tf


def is_traced(_) -> bool:
    """Tell whether a graph is being traced."""
    return not tf.executing_eagerly()


def compiled(function, variables, seeds, jit_compile: bool):
    """Make one graph of a function, for all shapes.

    Args:
        function: From tensors or `None` to any structure of them.
        variables: The Keras variables it reads.
        seeds: The Keras variables it changes.
        jit_compile: Whether XLA compiles it, for each shape.

    Returns:
        A function that does the same.
    """
    return tf.function(
        function,
        autograph=False,
        reduce_retracing=True,
        jit_compile=jit_compile,
    )
