"""Fast paths on TensorFlow."""

import weakref
from collections.abc import Callable
from functools import partial

import keras
import tensorflow as tf
from keras import tree

from keras_attention.backend.states import run_with_states

NAME = "tensorflow"
PLAIN_LOOP = "buffers"


def has_seed() -> bool:
    """Return whether operations that shuffle draw from a seed of the user."""
    return tf.compat.v1.get_seed(1)[0] != 87654321  # which stands for none


def is_traced(_) -> bool:
    """Return whether a graph is being traced."""
    return not tf.executing_eagerly()


def as_written(function: Callable) -> Callable:
    """Wrap a function so that AutoGraph does not rewrite it."""
    return tf.autograph.experimental.do_not_convert(function)


def take_rows(x, index):
    """Take rows by their numbers, of which none is negative."""
    return tf.gather(x, index)


def joined_sizes(shape: tuple):
    """Join sizes, some of them scalar tensors, to one tensor of a shape.

    LiteRT computes it where it prepares a program, unlike `tf.stack`.
    """
    return tf.concat([tf.reshape(n, (1,)) for n in shape], axis=0)


def take_beams(x, index):
    """Take beams by their number, for every row."""
    return tf.gather(x, index, batch_dims=1)


def look_up(table, ids):
    """Look ids up in a table, with a dense gradient.

    Arguments and results are those of `keras_attention.ops.rows.look_up`.
    """

    def function(table):
        def gradient(cotangents):
            wide = tf.float64 if table.dtype == tf.float64 else tf.float32
            rows = tf.reshape(cotangents, (-1, table.shape[1]))
            sums = tf.math.unsorted_segment_sum(
                tf.cast(rows, wide), tf.reshape(ids, (-1,)), table.shape[0]
            )
            return tf.cast(sums, table.dtype)

        return tf.gather(table, ids), gradient

    return custom_gradient(function)(table)


def without_all_reduce(optimizer, train_step: Callable, *arguments):
    """Run a training step so that nothing keeps the graph that it traces.

    Keras' optimizers add up the gradients of all replicas by `all_reduce`,
    even those of one. This registers a gradient, and with it the graph, for as
    long as the process lives
    (https://github.com/tensorflow/tensorflow/issues/97697). Optimizers do not
    call it in the context across replicas, which `merge_call` enters. A
    `LossScaleOptimizer` refuses to run there, so its graph is kept.

    Args:
        optimizer: The optimizer, or `None`.
        train_step: Function that computes gradients and applies them.
        *arguments: Its arguments.

    Returns:
        The result of `train_step`.
    """
    scales = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    if scales or tf.distribute.has_strategy():
        return train_step(*arguments)
    context = tf.distribute.get_replica_context()
    return context.merge_call(lambda _: train_step(*arguments))


def rows_collide(columns: int, dtype: str) -> bool:
    """Return whether the rows of a kernel of a loop collide in the cache.

    If they are a multiple of 2048 bytes apart, parts of them that are read
    together share few sets of a CPU's cache. A product of 64 rows then takes
    1.2 to 2 times as long, and one of few rows as long as ever.

    Args:
        columns: Number of its columns.
        dtype: Its dtype.
    """
    return _on_cpu() and columns * tf.as_dtype(dtype).size % 2048 == 0


def outruns_keras_layers() -> bool:
    """Return whether the training loop is faster than recurrent layers.

    It is on CPUs; on a GPU, Keras' layers are those of cuDNN.
    """
    return _on_cpu()


def _on_cpu():
    return not tf.config.list_logical_devices("GPU")


def replica() -> tuple | None:
    """Return the number of this replica, from 0, and how many there are.

    Returns:
        A scalar and an integer, or `None` where there is one replica: without
        a strategy of `tf.distribute`, or outside of its `run`.
    """
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return None
    return context.replica_id_in_sync_group, context.num_replicas_in_sync


def sum_over_replicas(tensors: list) -> list:
    """Sum each tensor over all replicas, of which this must be one.

    The gradient of each is the sum of its cotangents over all replicas.
    """
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, tensors)


def meet_replicas() -> int:
    """Wait for the other replicas that run in threads of this process.

    Returns:
        Their number, with this one. They share the Python objects of layers.
    """
    strategy = tf.distribute.get_strategy()
    devices = strategy.extended.worker_devices
    if len(devices) == 1 or isinstance(strategy, tf.distribute.TPUStrategy):
        return 1
    tf.distribute.get_replica_context().merge_call(lambda _: None)
    return len(devices)


def compiled(function: Callable, variables, seeds, jit_compile: bool):
    """Trace one graph of a function, for all shapes of its arguments.

    Args:
        function: Function from tensors or `None` to a structure of tensors.
        variables: The Keras variables that it reads.
        seeds: The Keras variables that it changes: states of generators.
        jit_compile: Whether XLA compiles it, once for each shape.

    Returns:
        A function with the same arguments and results. It also takes
        `states`, variables to read and change in place of `seeds`.
    """

    def run(arguments, states):
        return run_with_states(function, arguments, seeds, states)

    traced = tf.function(
        partial(run),  # without code, it is not counted with others of its code
        autograph=False,
        reduce_retracing=True,
        jit_compile=jit_compile,
    )

    def call(*arguments, states=seeds):
        return traced(arguments, [state.value for state in states])

    return call


def custom_gradient(function: Callable):
    """Attach a custom gradient to a function.

    Args:
        function: Function from tensors to its results and its gradient, a
            function from their cotangents to those of all arguments.

    Returns:
        A function from tensors to the results.
    """

    def run(*arguments):
        results, is_alone = [], False

        def attached(*arguments):
            nonlocal is_alone
            result, gradient = function(*arguments)
            is_alone = not isinstance(result, tuple)
            results.extend([result] if is_alone else result)
            return results, _forgotten(gradient)

        # Tensors, as TensorFlow looks for the gradients of variables.
        arguments = [tf.convert_to_tensor(x) for x in arguments]
        attached_results = tf.custom_gradient(attached)(*arguments)
        if not tf.executing_eagerly():
            results[:] = [0.0] * len(results)  # only their number is needed
        return attached_results[0] if is_alone else attached_results

    return run


def _forgotten(gradient):
    """Wrap a gradient function so that it is freed with its graph.

    TensorFlow keeps custom gradients in a registry as long as the process
    lives, and with them their models and graphs. So the graph owns the
    function, and the registry has a weak reference. A cotangent that is
    returned as it came is not freed either if another tensor gets it too, so
    a copy is returned.
    """
    traced = not tf.executing_eagerly()
    if traced:
        graph = tf.compat.v1.get_default_graph()
        owned = getattr(graph, "keras_attention_gradients", [])
        graph.keras_attention_gradients = [*owned, gradient]
        gradient = weakref.ref(gradient)

    def pull(*cotangents):
        pulled = (gradient() if traced else gradient)(*cotangents)
        pulled = pulled if isinstance(pulled, tuple) else (pulled,)
        came = {id(x) for x in cotangents}
        return tuple(tf.identity(x) if id(x) in came else x for x in pulled)

    return pull


def reference_to(layer) -> Callable:
    """Return a function that returns a layer.

    A graph has a weak reference. TensorFlow keeps some graphs for ever, such
    as those in which Keras' optimizers reduce gradients that are all dense,
    and with them it would keep the layer.
    """
    return (lambda: layer) if tf.executing_eagerly() else weakref.ref(layer)


def differentiate(function: Callable, arguments):
    """Run a function, and return its vector-Jacobian product.

    Args:
        function: Function from the arguments to a list of results and to
            auxiliary values, which have no cotangents.
        arguments: Lists of float tensors.

    Returns:
        The auxiliary values, and a function from the cotangents of the
        results to those of the arguments, `None` where there is none.
    """
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        results, more = function(*arguments)

    def pull(cotangents):
        return tape.gradient(results, arguments, cotangents)

    return more, pull


def after(tensors):
    """Let a graph compute what is in a `with` block after some tensors.

    It would compute all blocks of a matrix at once, and hold them all.
    """
    return tf.control_dependencies(tree.flatten(tensors))


def replace_rows(
    function: Callable, tensors: list, count: int, block_bounds: Callable
):
    """Replace the rows of a matrix by a function of them, in its memory.

    Arguments and results are those of `keras_attention.ops.replace_rows`, and
    `block_bounds` of the same module. A graph updates a tensor in place if
    nothing else reads it any more.
    """
    rows = tf.shape(tensors[0])[0]
    if tf.executing_eagerly():  # Python itself still refers to the tensor
        pairs = block_bounds(rows, count)
        return tf.concat([function(*_cut(tensors, *pair)) for pair in pairs], 0)
    # XLA cannot update no rows at all, so each block gets one. To add none
    # takes no copy.
    missing = tf.maximum(count - rows, 0)
    whole, *others = [
        tf.pad(x, [[0, missing]] + [[0, 0]] * (len(x.shape) - 1))
        for x in tensors
    ]
    # Written as one flat axis, which takes half of the time.
    shape, size = tf.shape(whole), tf.size(whole[0], "int64")
    for begin, end in block_bounds(rows + missing, count):
        replaced = function(*_cut([whole, *others], begin, end))
        flat = tf.raw_ops.TensorStridedSliceUpdate(
            input=tf.reshape(whole, (-1,)),
            begin=[tf.cast(begin, "int64") * size],
            end=[tf.cast(end, "int64") * size],
            strides=tf.constant([1], "int64"),
            value=tf.reshape(replaced, (-1,)),
        )
        whole = tf.reshape(flat, shape)
    return whole[:rows]


def _cut(tensors, begin, end):
    return [x[begin:end] for x in tensors]


def loop_over_time(
    step: Callable, carry, inputs, blank, length, reverse: bool = False
):
    """Run a step over time and stack its outputs, without a gradient.

    Arguments and results are those of `keras_attention.ops.loop_over_time`.
    Its buffers are copied at every write, unless XLA compiles the loop; the
    tensor arrays used here are not.
    """

    def body(t, carry, arrays):
        now = length - 1 - t if reverse else t
        inputs_now = tree.map_structure(
            lambda x: None if x is None else x[now], inputs
        )
        carry, outputs = step(carry, inputs_now)
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
        parallel_iterations=1,  # the default holds the memory of ten steps
    )
    pairs = zip(arrays, blank, strict=True)
    return carry, [_stack(array, x, length) for array, x in pairs]


def _stack(array, blank, length):
    """Stack what a loop wrote, also of no step, of which `stack` refuses some.

    Without a step it knows no size that is unknown while tracing.
    """
    if tf.executing_eagerly():
        return array.stack()
    stacked = tf.raw_ops.TensorListStack(
        input_handle=array.flow,
        element_shape=tf.shape(blank),
        element_dtype=blank.dtype,
    )
    steps = length if isinstance(length, int) else None
    stacked.set_shape((steps, *blank.shape))
    return stacked
