"""Everything random that attention needs, drawn before the loop over time.

Noise of dropout and noise of the alignment lie side by side on the last axis
of one tensor, so that a loop carries one tensor for each attention.
"""

import keras
from keras import ops


def draw_noise(layer, shape):
    """Draw the noise of all steps.

    Args:
        layer: An `AbstractAttention`.
        shape: `(steps, B, K, Tv)`.

    Returns:
        A tensor with time on axis 0, or `None` if nothing is random.
    """
    drawn, dtype = [], layer.compute_dtype
    if layer.dropout:
        ones, seed = ops.ones(shape, dtype), layer.seed_generator
        drawn.append(keras.random.dropout(ones, layer.dropout, seed=seed))
    if layer.noisy:
        seed = layer.seed_generator
        drawn.append(layer.aligner.draw_noise(shape, dtype, seed))
    return ops.concatenate(drawn, axis=-1) if drawn else None


def split_noise(layer, noise):
    """Split one step's noise: the factors of dropout, and what `weigh` takes.

    Args:
        layer: An `AbstractAttention`.
        noise: One slice of what `draw_noise` returned, or `None`.

    Returns:
        Two tensors `(B, K, Tv)`, each of which may be `None`.
    """
    if noise is None or not layer.noisy:
        return noise, None
    if not layer.dropout:
        return None, noise
    return ops.split(noise, 2, axis=-1)
