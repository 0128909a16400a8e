"""Resume an interrupted training."""

from .fit import resumable_fit as resumable_fit
