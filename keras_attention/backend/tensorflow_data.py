"""Batches as a `tf.data.Dataset`, which Keras takes on any backend."""

from collections.abc import Callable

import tensorflow as tf


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
