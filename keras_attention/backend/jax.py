"""The backend JAX."""

from collections.abc import Callable

import jax
import jax.extend
import keras

from keras_attention.backend.base import AbstractBackend

FORWARD = (
    "The training loop of a decoder or an encoder has no forward-mode "
    "derivative (jvp, linearize, jacfwd, hessian). Call the layer with "
    "training=False for a loop that has every derivative."
)


class TransformationError(NotImplementedError):
    """Says that a function has a gradient of its own, and no other."""


def _evaluate(jaxpr, constants, arguments):
    closed = jax.extend.core.ClosedJaxpr(jaxpr, constants)
    return jax.extend.core.jaxpr_as_fun(closed)(*arguments)


class JAXBackend(AbstractBackend):
    """Scans, compiled for each shape."""

    plain_loop = "scan"
    has_custom_gradients = True
    TransformationError = TransformationError
    compiles_each_shape = True

    def count_processes(self) -> int:
        return jax.process_count()

    def is_traced(self, x) -> bool:
        return isinstance(x, jax.core.Tracer)

    def compiled(self, function: Callable, variables, seeds, jit_compile: bool):
        @jax.jit
        def run(values, states, arguments):
            pairs = [*zip(variables, values, strict=True)]
            pairs += [*zip(seeds, states, strict=True)]
            with keras.StatelessScope(pairs) as scope:
                result = function(*arguments)
            return result, [scope.get_current_value(seed) for seed in seeds]

        def call(*arguments, states=seeds):
            values, begin = (
                [x.value for x in xs] for xs in (variables, states)
            )
            result, end = run(values, begin, arguments)
            for state, value in zip(states, end, strict=True):
                state.assign(value)
            return result

        return call

    def custom_gradient(self, function: Callable):
        def call(*arguments):
            vjp = refusal = None

            def traced(*arguments):
                nonlocal vjp, refusal
                results, gradient = function(*arguments)
                ends = results if isinstance(results, tuple) else (results,)
                try:
                    vjp = jax.make_jaxpr(gradient)(*ends)
                except NotImplementedError as error:
                    refusal = str(error)  # for who needs the gradient
                    return results, []
                return results, vjp.consts

            # JAX may run the function again when what it refers to is gone,
            # as `jax.checkpoint` does. So it is traced now, as an argument.
            program, shapes = jax.make_jaxpr(traced, return_shape=True)(
                *arguments
            )
            vjp = vjp and vjp.jaxpr

            def run(arguments, others):
                return forward(arguments, others)[0]

            def forward(arguments, others):
                every = _evaluate(program.jaxpr, others, arguments)
                return jax.tree.unflatten(jax.tree.structure(shapes), every)

            def backward(kept, cotangents):
                if refusal:
                    raise NotImplementedError(refusal)
                cotangents = jax.tree.leaves(cotangents)
                return tuple(_evaluate(vjp, kept, cotangents)), None

            run = jax.custom_vjp(run)
            run.defvjp(forward, backward)
            try:
                return run(arguments, program.consts)
            except TypeError as error:
                if "forward-mode" not in str(error):
                    raise
                raise TransformationError(FORWARD) from error

        return call

    def vjp(self, function: Callable, arguments):
        _, vjp, more = jax.vjp(function, *arguments, has_aux=True)
        return more, lambda cotangents: vjp(list(cotangents))


backend = JAXBackend()
