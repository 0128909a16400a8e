"""Metrics of sequence models, over the real tokens of all batches seen."""

from .attention import AttentionCoverage as AttentionCoverage
from .attention import AttentionEntropy as AttentionEntropy
from .base import AbstractMeanMetric as AbstractMeanMetric
from .tokens import AbstractTokenMetric as AbstractTokenMetric
from .tokens import Perplexity as Perplexity
from .tokens import TokenAccuracy as TokenAccuracy
