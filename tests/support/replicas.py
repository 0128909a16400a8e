"""Two devices of the CPU, of TensorFlow or of JAX."""

import functools

import keras


@functools.cache
def two_replicas():
    """Make the one strategy of a process.

    A second one would number its collective operations as the first did, and
    TensorFlow keeps the shapes that the first had.
    """
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def data_parallel():
    """Split rows over the devices of JAX."""
    return keras.distribution.DataParallel()


def model_parallel(splits: dict):
    """Split weights over the two devices of JAX, but not the rows.

    Args:
        splits: For patterns of weights' paths, the axis that is `"model"`.
    """
    devices = keras.distribution.list_devices()
    mesh = keras.distribution.DeviceMesh((1, 2), ["batch", "model"], devices)
    layout = keras.distribution.LayoutMap(mesh)
    for pattern, axes in splits.items():
        layout[pattern] = axes
    return keras.distribution.ModelParallel(
        layout_map=layout, batch_dim_name="batch"
    )
