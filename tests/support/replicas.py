"""Two devices of the CPU, of TensorFlow or of JAX."""

import functools

import keras
import numpy as np
import samples
from seq2seqs import small_model

import keras_attention as ka

LENGTHS = [6, 5, 1, 2, 3]  # so two replicas have 11 and 3 tokens, then 3 and 0


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


def make_batch(words: int):
    """Draw sources, targets and links; of four rows the last two are short."""
    rows, steps = len(LENGTHS), max(LENGTHS)
    draw = np.random.default_rng(0)
    source = draw.integers(4, words, (rows, 5)).astype("int32")
    target = draw.integers(4, words, (rows, steps + 1)).astype("int32")
    for row, length in zip(target, LENGTHS, strict=True):
        row[length + 1 :] = 0
    source[2:, 3:] = 0
    links = draw.uniform(size=(rows, steps, 5)) < 0.5
    links = links & (target[:, 1:, None] != 0) & (source[:, None] != 0)
    return source, target, links.astype("float32")


def both_losses():
    """Make the losses of words and of weights."""
    return [ka.SequenceCrossentropy(0.1), ka.GuidedAlignmentLoss()]


def all_metrics():
    """Make the metrics of words, and those of weights."""
    return [
        [ka.TokenAccuracy(), ka.Perplexity()],
        [ka.AttentionEntropy(), ka.AttentionCoverage()],
    ]


def make_model(scope, run_eagerly=False, **changes):
    """Make the same model in any scope, and compile it."""
    with scope:
        keras.utils.set_random_seed(1)
        model = small_model(
            ka.CoverageAttention(5, coverage_loss=1.0),
            return_attention_scores=True,
            **changes,
        )
        samples.randomize(model, seed=3, scale=0.3)  # as before training
        if "scheduled_sampling" in changes:
            model.sampling_probability.assign(0.0)
        model.compile(
            keras.optimizers.SGD(0.1, momentum=0.9),
            loss=both_losses(),
            loss_weights=[1.0, 0.5],
            metrics=all_metrics(),
            run_eagerly=run_eagerly,
        )
    return model
