"""Schedules: how likely a decoder is fed the right word, step by step."""

import keras
import numpy as np

from keras_attention.checks import check_number

LARGEST = 700.0  # of an exponent: `exp` of 710 overflows


class AbstractSchedule:
    """Tells how likely a decoder is fed the right word, at each step.

    With the rest of the probability it is fed the word that it would have
    chosen itself: scheduled sampling, which makes training more and more like
    generation. `ScheduledSampling` does that during `fit`.

    A subclass writes `__call__` and `get_config`.

    Call arguments:
        step: The number `i` of the training step, from 0, or an array of
            such numbers.

    Returns:
        Probabilities from 0 to 1, of the shape of `step`.

    Reference:
        [Bengio et al., 2015](https://arxiv.org/abs/1506.03099), section 2.4.
    """

    def __call__(self, step):
        raise NotImplementedError(
            f"{type(self).__name__} must define `__call__(step)`, from the "
            "number of the training step to a probability."
        )

    def get_config(self):
        raise NotImplementedError(
            f"{type(self).__name__} must define `get_config()`, with the "
            "arguments of its constructor."
        )

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable(package="keras_attention")
class ConstantSchedule(AbstractSchedule):
    """Keeps one probability throughout.

    Formula:

        epsilon[i] = epsilon

    1 is teacher forcing.

    Args:
        probability: The number `epsilon`, from 0 to 1.

    Raises:
        ValueError: If `probability` is not in [0, 1].

    Example:

    >>> ConstantSchedule(0.75)([0, 1000]).tolist()
    [0.75, 0.75]
    """

    def __init__(self, probability: float):
        _check_share("probability", probability)
        self.probability = probability

    def __call__(self, step):
        return np.full(np.shape(step), self.probability, float)[()]

    def get_config(self):
        return {"probability": self.probability}


@keras.saving.register_keras_serializable(package="keras_attention")
class LinearSchedule(AbstractSchedule):
    """Lets the probability fall by the same amount at every step.

    Formula:

        epsilon[i] = max(epsilon, min(1, k - c i))

    An offset above 1 begins with teacher forcing, for `(k - 1) / c` steps.

    Args:
        slope: The number `c`, by which it falls each step.
        offset: The number `k`, where it starts. Defaults to `1.0`.
        minimum: The number `epsilon`, below which it does not fall. Defaults
            to `0.0`.

    Raises:
        ValueError: If `slope` is not positive, if `minimum` is not in [0, 1]
            or above `offset`.

    Example:

    >>> LinearSchedule(0.001, minimum=0.25)([0, 500, 1000]).tolist()
    [1.0, 0.5, 0.25]

    Reference:
        [Bengio et al., 2015](https://arxiv.org/abs/1506.03099), section 2.4.
    """

    def __init__(self, slope: float, offset: float = 1.0, minimum: float = 0.0):
        check_number("slope", slope, above=0)
        _check_share("minimum", minimum)
        if not offset >= minimum:
            raise ValueError(
                "`offset`, where the schedule starts, cannot be below "
                f"`minimum`. Received: offset={offset}, minimum={minimum}"
            )
        self.slope = slope
        self.offset = offset
        self.minimum = minimum

    def __call__(self, step):
        falling = self.offset - self.slope * np.asarray(step, float)
        return np.clip(falling, self.minimum, 1.0)

    def get_config(self):
        return {
            "slope": self.slope,
            "offset": self.offset,
            "minimum": self.minimum,
        }


@keras.saving.register_keras_serializable(package="keras_attention")
class ExponentialSchedule(AbstractSchedule):
    """Multiplies the probability by the same number at every step.

    Formula:

        epsilon[i] = k^i

    It is a half after `log(0.5) / log(k)` steps: 693 if `k` is 0.999.

    Args:
        base: The number `k`, between 0 and 1.

    Raises:
        ValueError: If `base` is not between 0 and 1.

    Example:

    >>> ExponentialSchedule(0.5)([0, 1, 2]).tolist()
    [1.0, 0.5, 0.25]

    Reference:
        [Bengio et al., 2015](https://arxiv.org/abs/1506.03099), section 2.4.
    """

    def __init__(self, base: float):
        if not 0 < base < 1:
            raise ValueError(
                "`base` must be between 0 and 1, or nothing falls. "
                f"Received: base={base}. 0.999 is a half after 693 steps."
            )
        self.base = base

    def __call__(self, step):
        return np.power(self.base, np.asarray(step, float))

    def get_config(self):
        return {"base": self.base}


@keras.saving.register_keras_serializable(package="keras_attention")
class InverseSigmoidSchedule(AbstractSchedule):
    """Stays near 1 at first, falls, and then flattens out near 0.

    Formula:

        epsilon[i] = k / (k + exp(i / k))

    It is a half after `k log(k)` steps: 6908 if `k` is 1000. It starts from
    `k / (k + 1)`. No step is too large for it.

    Args:
        scale: The number `k`, at least 1: the larger, the later and slower.

    Raises:
        ValueError: If `scale` is less than 1.

    Example:

    >>> InverseSigmoidSchedule(100)([0, 460, 1000]).round(3).tolist()
    [0.99, 0.501, 0.005]

    Reference:
        [Bengio et al., 2015](https://arxiv.org/abs/1506.03099), section 2.4.
    """

    def __init__(self, scale: float):
        if not scale >= 1:
            raise ValueError(
                "`scale` must be at least 1, or the probability would start "
                f"below a half. Received: scale={scale}. 1000 is a half "
                "after 6908 steps."
            )
        self.scale = scale

    def __call__(self, step):
        exponent = np.asarray(step, float) / self.scale - np.log(self.scale)
        return 1 / (1 + np.exp(np.minimum(exponent, LARGEST)))

    def get_config(self):
        return {"scale": self.scale}


def _check_share(name, value):
    if not 0 <= value <= 1:
        raise ValueError(
            f"`{name}` must be a probability, from 0 to 1. "
            f"Received: {name}={value}"
        )
