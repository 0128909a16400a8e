"""What TensorFlow shall know of functions that it traces."""

from collections.abc import Callable
from functools import partial


def counted_alone(function: Callable) -> Callable:
    """Wrap one of many functions that have the same code.

    TensorFlow counts how often code is traced, and warns of functions that
    are traced once each, such as those of many translators or searches, as if
    one were traced many times. What has no code is counted for itself.
    """
    return partial(function)
