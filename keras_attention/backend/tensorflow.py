"""What TensorFlow does better than `keras.ops` alone."""

import tensorflow as tf
from keras import tree


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


def custom_gradient(function):
    """Give a function a gradient of its own.

    Args:
        function: From tensors to the results and a function from their
            cotangents to those of all its arguments.
    """
    return tf.custom_gradient(function)


def differentiate(function, arguments):
    """Run a function, and be ready to pull cotangents back through it.

    Args:
        function: From the arguments to a list of results and to more, which
            is only handed on.
        arguments: Lists of float tensors.

    Returns:
        What the function handed on, and a function from the cotangents of
        the results to those of the arguments, `None` where there is none.
    """
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        results, more = function(*arguments)

    def pull(cotangents):
        return tape.gradient(results, arguments, cotangents)

    return more, pull


def loop_over_time(step, carry, inputs, blank, length, reverse=False):
    """Do what `keras_attention.ops.loop_over_time` does, without a gradient.

    Tensor arrays take a step's outputs as they are: a buffer is written
    through a copy of itself, unless XLA compiles it.

    Args:
        step: As there.
        carry: As there.
        inputs: As there.
        blank: As there.
        length: As there.
        reverse: As there.

    Returns:
        As there.
    """

    def body(t, carry, arrays):
        now = length - 1 - t if reverse else t
        given = tree.map_structure(
            lambda x: None if x is None else x[now], inputs
        )
        carry, outputs = step(carry, given)
        pairs = zip(arrays, outputs, strict=True)
        return t + 1, list(carry), [array.write(now, x) for array, x in pairs]

    arrays = [
        tf.TensorArray(x.dtype, size=length, element_shape=x.shape)
        for x in blank
    ]
    _, carry, arrays = tf.while_loop(
        lambda t, *_: t < length,
        body,
        (tf.zeros((), "int32"), list(carry), arrays),
        maximum_iterations=length,
        parallel_iterations=1,  # ten would hold the memory of ten steps
    )
    return carry, [array.stack() for array in arrays]
