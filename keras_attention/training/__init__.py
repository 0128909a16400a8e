"""Losses, metrics, callbacks and schedules, for `compile` and `fit`."""

from .alignment_error import alignment_error_rate as alignment_error_rate
from .alignment_error import error_rate_of_links as error_rate_of_links
from .attention_images import AttentionImages as AttentionImages
from .average_weights import AverageWeights as AverageWeights
from .distillation import SequenceDistillation as SequenceDistillation
from .distillation import SequenceDistiller as SequenceDistiller
from .losses import EntmaxLoss as EntmaxLoss
from .losses import GuidedAlignmentLoss as GuidedAlignmentLoss
from .losses import SequenceCrossentropy as SequenceCrossentropy
from .metrics import AbstractMeanMetric as AbstractMeanMetric
from .metrics import AbstractTokenMetric as AbstractTokenMetric
from .metrics import AttentionCoverage as AttentionCoverage
from .metrics import AttentionEntropy as AttentionEntropy
from .metrics import Perplexity as Perplexity
from .metrics import TokenAccuracy as TokenAccuracy
from .scheduled_sampling import ScheduledSampling as ScheduledSampling
from .schedules import InverseSigmoidSchedule as InverseSigmoidSchedule
from .schedules import InverseSquareRootSchedule as InverseSquareRootSchedule
from .text_scores import MODES as MODES
from .text_scores import score_texts as score_texts
from .validation_scores import ValidationScores as ValidationScores
