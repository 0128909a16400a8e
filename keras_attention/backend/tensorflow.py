"""The backend TensorFlow, and datasets of it, which Keras takes on any."""

import weakref
from collections.abc import Callable
from functools import partial

import keras
import numpy as np
import tensorflow as tf
from keras import tree

from keras_attention.backend.base import AbstractBackend
from keras_attention.backend.base import run_with_states


def _on_cpu():
    return not tf.config.list_logical_devices("GPU")


def _of_any_size(tensor):
    """Return a type for ids of any shape; vectors keep their own."""
    if tensor is None:
        return None
    tensor = tf.convert_to_tensor(tensor)
    shape = tensor.shape if tensor.ndim < 2 else [None] * tensor.ndim
    return tf.TensorSpec(shape, tensor.dtype)


def _is_ids(spec):
    return spec is None or spec.shape.rank < 2 or spec.dtype.is_integer


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

    def vjp(*cotangents):
        results = (gradient() if traced else gradient)(*cotangents)
        results = results if isinstance(results, tuple) else (results,)
        came = {id(x) for x in cotangents}
        return tuple(tf.identity(x) if id(x) in came else x for x in results)

    return vjp


def _cut(tensors, begin, end):
    return [x[begin:end] for x in tensors]


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


class TensorFlowBackend(AbstractBackend):
    """Graphs, with `tf.distribute`, XLA and LiteRT in mind."""

    has_custom_gradients = replaces_rows = True

    def has_seed(self) -> bool:
        return tf.compat.v1.get_seed(1)[0] != 87654321  # which stands for none

    def is_traced(self, _) -> bool:
        return not tf.executing_eagerly()

    def do_not_convert(self, function: Callable) -> Callable:
        return tf.autograph.experimental.do_not_convert(function)

    def take_rows(self, x, index):
        return tf.gather(x, index)

    def joined_sizes(self, shape: tuple):
        return tf.concat([tf.reshape(n, (1,)) for n in shape], axis=0)

    def beam_taker(self, index, size) -> Callable:
        return lambda x: tf.gather(x, index, batch_dims=1)

    def look_up(self, table, ids):
        def function(table):
            def gradient(cotangents):
                wide = tf.float64 if table.dtype == tf.float64 else tf.float32
                rows = tf.reshape(cotangents, (-1, table.shape[1]))
                sums = tf.math.unsorted_segment_sum(
                    tf.cast(rows, wide), tf.reshape(ids, (-1,)), table.shape[0]
                )
                return tf.cast(sums, table.dtype)

            return tf.gather(table, ids), gradient

        return self.custom_gradient(function)(table)

    def without_all_reduce(self, optimizer, train_step: Callable, *arguments):
        scales = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
        if scales or tf.distribute.has_strategy():
            return train_step(*arguments)
        context = tf.distribute.get_replica_context()
        return context.merge_call(lambda _: train_step(*arguments))

    def rows_collide(self, columns: int, dtype: str) -> bool:
        return _on_cpu() and columns * tf.as_dtype(dtype).size % 2048 == 0

    def outruns_keras_layers(self) -> bool:
        return _on_cpu()

    def replica(self) -> tuple:
        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            return 0, 1
        return context.replica_id_in_sync_group, context.num_replicas_in_sync

    def sum_over_replicas(self, tensors: list) -> list:
        _, count = self.replica()
        if count == 1:
            return tensors
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, tensors)

    def barrier(self) -> int:
        strategy = tf.distribute.get_strategy()
        devices = strategy.extended.worker_devices
        if len(devices) == 1 or isinstance(strategy, tf.distribute.TPUStrategy):
            return 1
        tf.distribute.get_replica_context().merge_call(lambda _: None)
        return len(devices)

    def compiled(self, function: Callable, variables, seeds, jit_compile: bool):
        traced = tf.function(
            # Without code, it is not counted with others of its code.
            partial(run_with_states, function, seeds),
            autograph=False,
            reduce_retracing=True,
            jit_compile=jit_compile,
        )
        known = set()  # ranks of arguments

        def call(*arguments, states=seeds):
            states = [state.value for state in states]
            ranks = tuple(np.ndim(x) for x in tree.flatten(arguments))
            if ranks not in known and not jit_compile:
                # Once for all batches; else two more sizes are traced each.
                # States and features may have a size that is fixed.
                specs = tree.map_structure(_of_any_size, arguments)
                if all(map(_is_ids, tree.flatten(specs))):
                    traced.get_concrete_function(specs, states)
                known.add(ranks)
            return traced(arguments, states)

        return call

    def custom_gradient(self, function: Callable):
        def run(*arguments):
            results, is_alone = [], False

            def attached(*arguments):
                nonlocal is_alone
                result, gradient = function(*arguments)
                is_alone = not isinstance(result, tuple)
                results.extend([result] if is_alone else result)
                return results, _forgotten(gradient)

            # Tensors, as TensorFlow looks for the gradients of variables, and
            # of this graph: one branch of a `cond` has those of another.
            arguments = [tf.identity(x) for x in arguments]
            attached_results = tf.custom_gradient(attached)(*arguments)
            if not tf.executing_eagerly():
                results[:] = [0.0] * len(results)  # only their number is needed
            return attached_results[0] if is_alone else attached_results

        return run

    def reference_to(self, layer) -> Callable:
        return (lambda: layer) if tf.executing_eagerly() else weakref.ref(layer)

    def vjp(self, function: Callable, arguments):
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            results, more = function(*arguments)

        def vjp(cotangents):
            return tape.gradient(results, arguments, cotangents)

        return more, vjp

    def after(self, tensors):
        return tf.control_dependencies(tree.flatten(tensors))

    def replace_rows(
        self,
        function: Callable,
        tensors: list,
        count: int,
        bounds: Callable,
    ):
        # A graph updates a tensor in place if nothing else reads it any more.
        rows = tf.shape(tensors[0])[0]
        if tf.executing_eagerly():  # Python itself still refers to the tensor
            pairs = bounds(rows, count)
            return tf.concat(
                [function(*_cut(tensors, *pair)) for pair in pairs], 0
            )
        # XLA cannot update no rows at all, so each block gets one. To add none
        # takes no copy.
        missing = tf.maximum(count - rows, 0)
        whole, *others = [
            tf.pad(x, [[0, missing]] + [[0, 0]] * (len(x.shape) - 1))
            for x in tensors
        ]
        # Written as one flat axis, which takes half of the time.
        shape, size = tf.shape(whole), tf.size(whole[0], "int64")
        for begin, end in bounds(rows + missing, count):
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

    def fastest_loop(self, plain: Callable) -> Callable:
        return _loop_over_time


def _loop_over_time(
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
        return (
            t + 1,
            list(carry),
            [array.write(now, x) for array, x in pairs],
        )

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


def as_dataset(
    batches: Callable, count: int, rows: int | None
) -> tf.data.Dataset:
    """Make a dataset of `((source, inputs), labels)`, each int32 ids.

    Args:
        batches: Function that yields the batches of an epoch.
        count: How many they are.
        rows: The number of rows of each, or `None` if it differs.

    Returns:
        The dataset, of `count` batches.
    """
    ids = tf.TensorSpec((rows, None), tf.int32)
    dataset = tf.data.Dataset.from_generator(
        batches, output_signature=((ids, ids), ids)
    )
    cardinality = tf.data.experimental.assert_cardinality(count)
    options = tf.data.Options()
    # There is nothing to tune, and the thread that would do it may take as
    # long to end as its iterator has lived, up to a minute.
    options.autotune.enabled = False
    return dataset.apply(cardinality).prefetch(2).with_options(options)


backend = TensorFlowBackend()
