"""Random numbers of attention, drawn before the loop over time.

The masks of dropout and the noise of the alignment are concatenated on the
last axis, so that a loop carries one tensor for each attention.
"""

import keras
from keras import ops

from keras_attention.ops.replicas import own_seed


def draw_noise(layer, aligner, shape):
    """Draw the random numbers of all steps.

    Args:
        layer: An `AbstractAttention`.
        aligner: The alignment that needs noise if the layer is `noisy`.
        shape: `(steps, B, K, Tv)`.

    Returns:
        A tensor `(steps, B, K, Tv)`, or `(steps, B, K, 2 Tv)` if dropout and
        alignment both need one; `None` if nothing is random.
    """
    drawn, dtype = [], layer.compute_dtype
    if layer.dropout:
        ones, seed = ops.ones(shape, dtype), own_seed(layer.seed_generator)
        drawn.append(keras.random.dropout(ones, layer.dropout, seed=seed))
    if layer.noisy:
        seed = own_seed(layer.seed_generator)
        drawn.append(aligner.draw_noise(shape, dtype, seed))
    return ops.concatenate(drawn, axis=-1) if drawn else None


def split_noise(layer, noise):
    """Split the random numbers of one step.

    Args:
        layer: An `AbstractAttention`.
        noise: One slice of what `draw_noise` returned, or `None`.

    Returns:
        The dropout factors and the alignment's noise, `(B, K, Tv)` each, or
        `None`.
    """
    if noise is None or not layer.noisy:
        return noise, None
    if not layer.dropout:
        return None, noise
    return ops.split(noise, 2, axis=-1)
