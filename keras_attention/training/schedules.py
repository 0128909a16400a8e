"""Schedules that Keras does not have."""

import math

import keras
from keras import ops

from keras_attention.checks import check_number
from keras_attention.ops.numerics import wide_dtype


@keras.saving.register_keras_serializable(package="keras_attention")
class InverseSigmoidSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Stays near 1 at first, falls, and flattens out near 0.

    Formula:

        epsilon[i] = k / (k + exp(i / k))

    It starts from `k / (k + 1)` and is a half after `k log(k)` steps: 6908 if
    `k` is 1000. Made for `ScheduledSampling`, where it is the probability of
    the right word, it works wherever Keras takes a schedule.

    Args:
        scale: The number `k`, at least 1: the larger, the later and slower.

    Call arguments:
        step: The number `i` of the training step, from 0, or a tensor of
            such numbers.

    Returns:
        Numbers from 0 to 1, of the shape of `step`, in float32 or wider.

    Raises:
        ValueError: If `scale` is less than 1.

    Example:

    >>> schedule = InverseSigmoidSchedule(100)
    >>> [round(float(schedule(step)), 3) for step in (0, 460, 1000)]
    [0.99, 0.501, 0.005]

    Reference:
        [Bengio et al., 2015](https://arxiv.org/abs/1506.03099), section 2.4.
    """

    def __init__(self, scale: float):
        check_number("scale", scale, least=1)
        self.scale = scale

    def __call__(self, step):
        step = ops.cast(step, wide_dtype(keras.config.floatx()))
        return ops.sigmoid(math.log(self.scale) - step / self.scale)

    def get_config(self):
        return {"scale": self.scale}
