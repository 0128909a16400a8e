"""What JAX does better than `keras.ops` alone."""

import jax
import keras


def is_traced(x) -> bool:
    """Tell whether a function that takes `x` is being traced."""
    return isinstance(x, jax.core.Tracer)


def compiled(function, variables, seeds, jit_compile: bool):
    """Compile a function, for each shape.

    Args:
        function: From tensors or `None` to any structure of them.
        variables: The Keras variables it reads.
        seeds: The Keras variables it changes.
        jit_compile: Not looked at: JAX has no other way to compile.

    Returns:
        A function that does the same.
    """

    @jax.jit
    def run(values, states, arguments):
        pairs = [*zip(variables, values, strict=True)]
        pairs += [*zip(seeds, states, strict=True)]
        with keras.StatelessScope(pairs) as scope:
            result = function(*arguments)
        return result, [scope.get_current_value(seed) for seed in seeds]

    def call(*arguments):
        values, states = ([x.value for x in xs] for xs in (variables, seeds))
        result, states = run(values, states, arguments)
        for seed, state in zip(seeds, states, strict=True):
            seed.assign(state)
        return result

    return call


def custom_gradient(function):
    """Give a function a gradient of its own.

    Args:
        function: From tensors to the results and a function from their
            cotangents to those of all its arguments.
    """

    def one_cotangent(*arguments):
        results, gradient = function(*arguments)
        if isinstance(results, tuple):  # which JAX hands on as one
            return results, lambda cotangents: gradient(*cotangents)
        return results, gradient

    return jax.custom_gradient(one_cotangent)


def differentiate(function, arguments):
    """Run a function, and be ready to pull cotangents back through it.

    Args:
        function: From the arguments to a list of results and to more, which
            is only handed on.
        arguments: Lists of float tensors.

    Returns:
        What the function handed on, and a function from the cotangents of
        the results to those of the arguments.
    """
    _, pull, more = jax.vjp(function, *arguments, has_aux=True)
    return more, lambda cotangents: pull(list(cotangents))
