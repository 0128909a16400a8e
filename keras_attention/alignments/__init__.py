"""Alignments, which turn scores into weights: one file per alignment."""

from .base import AbstractAlignment as AbstractAlignment
from .forward import ForwardAlignment as ForwardAlignment
from .local_monotonic import LocalMonotonic as LocalMonotonic
from .local_predictive import LocalPredictive as LocalPredictive
from .monotonic import Monotonic as Monotonic
from .reading import AbstractReading as AbstractReading
from .reading import HardReading as HardReading
from .simplex import SimplexAlignment as SimplexAlignment
from .simplex import get_alignment as get_alignment
