"""What a backend may do in a way of its own."""

import contextlib
from collections.abc import Callable

import keras
from keras import ops


class NeverRaisedError(Exception):
    """Stands for an error of a backend that raises none."""


class AbstractBackend:
    """What a backend may do in its own way, and what `keras.ops` does.

    Attributes:
        ops: The functions of `keras.ops`, some of them in a faster form.
        plain_loop: How a loop over time runs that each backend can
            differentiate: `"buffers"` in a `while` loop, `"scan"`, or
            `"python"`, step by step.
        compiles_each_shape: Whether `compiled` compiles anew for each shape.
        has_custom_gradients: Whether it has `custom_gradient` and `vjp`.
        has_packed_kernels: Whether it has `run_packed`.
        replaces_rows: Whether it has `replace_rows`.
        TransformationError: What `custom_gradient` raises where a derivative
            is taken that it does not have.
    """

    ops = ops
    plain_loop = "buffers"
    compiles_each_shape = False
    has_custom_gradients = False
    has_packed_kernels = False
    replaces_rows = False
    TransformationError = NeverRaisedError

    @property
    def name(self) -> str:
        """The name that Keras has for it."""
        return keras.backend.backend()

    # Programs.

    def is_traced(self, x) -> bool:
        """Return whether `x` may be a tensor of a graph, without values."""
        return True

    def do_not_convert(self, function: Callable) -> Callable:
        """Wrap a function so that AutoGraph traces it unchanged.

        In a `tf.function`, AutoGraph would first rewrite it and all that it
        calls, for control flow that it does not have. That takes several times
        as long as the tracing.
        """
        return function

    def compiled(
        self, function: Callable, variables, seeds, jit_compile: bool
    ) -> Callable:
        """Compile a function as far as the backend compiles, without gradients.

        Args:
            function: Function from tensors or `None` to a structure of tensors.
            variables: The Keras variables that it reads.
            seeds: The Keras variables that it changes: states of generators.
            jit_compile: Whether XLA compiles it, where there is a choice.

        Returns:
            A function with the same arguments and results. It also takes
            `states`, variables to read and change in place of `seeds`.
        """
        return function

    def reference_to(self, layer) -> Callable:
        """Return a function that returns a layer.

        TensorFlow keeps some graphs as long as the process lives, and with them
        it would keep the layer. So there a graph has a weak reference.
        """
        return lambda: layer

    def without_all_reduce(self, optimizer, train_step: Callable, *arguments):
        """Run a training step so that nothing keeps the graph that it traces.

        On TensorFlow, Keras' optimizers add up the gradients of all replicas
        by `all_reduce`, even those of one. This registers a gradient, and with
        it the graph, for as long as the process lives
        (https://github.com/tensorflow/tensorflow/issues/97697). Optimizers do
        not call it in the context across replicas, which `merge_call` enters.
        A `LossScaleOptimizer` refuses to run there, so its graph is kept.

        Args:
            optimizer: The optimizer, or `None`.
            train_step: Function that computes gradients and applies them.
            *arguments: Its arguments.

        Returns:
            The result of `train_step`.
        """
        return train_step(*arguments)

    # Gradients.

    def custom_gradient(self, function: Callable) -> Callable:
        """Attach a custom gradient to a function.

        Args:
            function: Function from tensors to its results and its gradient, a
                function from their cotangents to those of all arguments.

        Returns:
            A function from tensors to the results. Without
            `has_custom_gradients` it has the backend's own gradient.
        """
        return lambda *arguments: function(*arguments)[0]

    def vjp(self, function: Callable, arguments):
        """Run a function, and return its vector-Jacobian product.

        Args:
            function: Function from the arguments to a list of results and to
                auxiliary values, which have no cotangents.
            arguments: Lists of float tensors.

        Returns:
            The auxiliary values, and a function from the cotangents of the
            results to those of the arguments, `None` where there is none.
        """
        raise NotImplementedError

    def recomputed(self, step: Callable) -> Callable:
        """Wrap a step whose gradient computes its large tables again.

        A loop with a gradient of its own does so in any case. Where the plain
        loop trains, it would keep them.

        Args:
            step: As in `ops.masked_loop`.

        Returns:
            A step with the same arguments and results.
        """
        return step

    # Loops and rows.

    def fastest_loop(self, plain: Callable) -> Callable:
        """Return a loop over time that needs no gradient.

        Args:
            plain: `ops.loop_over_time`, whose arguments and results it has.
        """
        return plain

    def take_rows(self, x, index):
        """Take rows by their numbers, as `ops.take_rows`."""
        return ops.take(x, index, axis=0)

    def beam_taker(self, index, size) -> Callable:
        """Return a function that takes beams by their numbers in each row.

        Args:
            index: Int32 `(B, K)`, from 0 to `N - 1`.
            size: Number `N` of beams of each row.

        Returns:
            A function from `(B, N, ...)` to `(B, K, ...)`.
        """
        rows = ops.shape(index)[0]
        places = index + size * ops.arange(rows, dtype="int32")[:, None]

        def take(x):
            flat = ops.reshape(x, (rows * size, *ops.shape(x)[2:]))
            return self.take_rows(flat, places)

        return take

    def look_up(self, table, ids):
        """Look ids up in a table, with a dense gradient, as `ops.look_up`."""
        return ops.take(table, ids, axis=0)

    def joined_sizes(self, shape: tuple):
        """Join sizes, some of them scalar tensors, to a shape.

        LiteRT computes it where it prepares a program, unlike `tf.stack`.
        """
        return shape

    def after(self, tensors):
        """Let a graph compute what is in a `with` block after some tensors.

        It would compute all blocks of a matrix at once, and hold them all.
        """
        return contextlib.nullcontext()

    def replace_rows(
        self, function: Callable, tensors: list, count: int, bounds: Callable
    ):
        """Replace the rows of a matrix by a function of them, in its memory.

        Arguments and result are those of `ops.tokens.replace_rows`, and
        `bounds` is `block_bounds` of the same module.
        """
        raise NotImplementedError

    def rows_collide(self, columns: int, dtype: str) -> bool:
        """Return whether the rows of a kernel of a loop collide in the cache.

        If they are a multiple of 2048 bytes apart, parts of them that are read
        together share few sets of a CPU's cache. A product of 64 rows then
        takes 1.2 to 2 times as long, and one of few rows as long as ever.
        """
        return False

    # Recurrent layers.

    def outruns_keras_layers(self) -> bool:
        """Return whether the training loop is faster than recurrent layers.

        It may be on CPUs; on a GPU, Keras' layers are those of cuDNN.
        """
        return False

    def run_packed(self, kind: str, weights, sequence, mask, repeats: bool):
        """Run a recurrent layer over whole sequences, by a kernel.

        It reads real positions alone, and has every derivative.

        Args:
            kind: `"lstm"` or `"gru"`.
            weights: Kernel, recurrent kernel and bias of each direction, in
                the order of Keras.
            sequence: `(B, T, D)`.
            mask: Boolean `(B, T)`, or `None`.
            repeats: Whether a masked step has the output of the step before
                it, not 0.

        Returns:
            Outputs `(B, T, U)`, or twice the units, and the last states of
            each direction; `None` where there is no such kernel.
        """
        raise NotImplementedError

    # Processes, replicas and seeds.

    def count_processes(self) -> int:
        """Return the number of processes that compute together."""
        return 1

    def has_seed(self) -> bool:
        """Return whether operations that shuffle draw from a user's seed."""
        return True

    def replica(self) -> tuple:
        """Return the number of this replica, from 0, and how many there are.

        Replicas are copies of a model that run a step together, each on its
        own rows. On TensorFlow, a strategy of `tf.distribute` runs them.
        Outside of a step and on other backends, there is one. (On JAX,
        `keras.distribution` splits arrays, and a sum is over all rows anyway.)
        """
        return 0, 1

    def sum_over_replicas(self, tensors: list) -> list:
        """Sum each tensor over all replicas that run this step together.

        Every replica gets the sums. All replicas must call this function
        equally often. The gradient is also summed, because the tensor of a
        replica affects the losses of all replicas.

        Args:
            tensors: Float tensors.
        """
        return tensors

    def barrier(self) -> int:
        """Wait for the other replicas that run in threads of this process.

        Returns:
            Their number, with this one. They share the objects of layers.
        """
        return 1


class PlainBackend(AbstractBackend):
    """Any other backend, on which `keras.ops` does everything."""


def run_with_states(function: Callable, seeds, arguments, states):
    """Run a function with the states of other random generators.

    Args:
        function: Function whose random numbers come from `seeds`.
        seeds: Keras variables, the states of its own generators.
        arguments: Its arguments.
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
