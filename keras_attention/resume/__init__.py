"""Training that goes on where it was killed."""

from .fit import resumable_fit as resumable_fit
