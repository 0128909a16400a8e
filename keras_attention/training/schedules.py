"""Schedules that are not in Keras."""

import math

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_number
from keras_attention.ops.numerics import wide_dtype


@keras.saving.register_keras_serializable(package="keras_attention")
class InverseSigmoidSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Stays near 1 at first, falls, and flattens out near 0.

    Formula:

        epsilon[i] = k / (k + exp(i / k))

    The schedule starts at `k / (k + 1)` and is 0.5 after `k log(k)` steps,
    which are 6908 steps if `k` is 1000. It is meant for `ScheduledSampling`, as
    the probability of the correct token, but works wherever Keras accepts a
    schedule.

    Args:
        scale: The number `k`, at least 1. A larger `k` makes the decay later
            and slower.

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

    def get_config(self) -> dict:
        return {"scale": self.scale}


@keras.saving.register_keras_serializable(package="keras_attention")
class InverseSquareRootSchedule(
    keras.optimizers.schedules.LearningRateSchedule
):
    """Rises linearly (warm-up), then falls with the inverse square root.

    Formula:

        rate[i] = peak * min(n / warmup, sqrt(warmup / n)), n = i + 1

    The rate is `peak / warmup` at the first step, `peak` at step `warmup`, and
    half of `peak` at step `4 * warmup`. For models with `D` features, Vaswani
    et al. use `peak = 1 / sqrt(D * warmup)`.

    Args:
        peak: The largest rate, positive.
        warmup: The number of steps over which the rate rises, positive.

    Call arguments:
        step: The number `i` of the training step, from 0, or a tensor of
            such numbers.

    Returns:
        Rates, of the shape of `step`, in float32 or wider.

    Raises:
        ValueError: If `peak` or `warmup` is not positive.

    Example:

    >>> schedule = InverseSquareRootSchedule(0.001, warmup=100)
    >>> [round(float(schedule(step)), 6) for step in (0, 49, 99, 399)]
    [1e-05, 0.0005, 0.001, 0.0005]

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), eq. 3.
    """

    def __init__(self, peak: float, warmup: int):
        self.peak = check_number("peak", peak, above=0)
        self.warmup = check_integer("warmup", warmup)

    def __call__(self, step):
        step = 1 + ops.cast(step, wide_dtype(keras.config.floatx()))
        return self.peak * ops.minimum(
            step / self.warmup, ops.sqrt(self.warmup / step)
        )

    def get_config(self) -> dict:
        return {"peak": self.peak, "warmup": self.warmup}
