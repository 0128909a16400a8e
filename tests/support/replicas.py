"""Two replicas on two devices of the CPU."""

import functools


@functools.cache
def two_replicas():
    """Make the one strategy of a process.

    A second one would number its collective operations as the first did, and
    TensorFlow keeps the shapes that the first had.
    """
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
