"""Alignments: one file per way in which scores become weights."""

from .base import AbstractAlignment as AbstractAlignment
from .forward import ForwardAlignment as ForwardAlignment
from .local_monotonic import LocalMonotonic as LocalMonotonic
from .local_predictive import LocalPredictive as LocalPredictive
from .lookup import as_alignment as as_alignment
from .monotonic import Monotonic as Monotonic
from .simplex import SimplexAlignment as SimplexAlignment
