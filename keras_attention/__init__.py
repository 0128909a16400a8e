"""Attention for recurrent encoder-decoders, as serializable Keras 3 layers."""

import importlib

from .alignment_error import alignment_error_rate as alignment_error_rate
from .alignments import AbstractAlignment as AbstractAlignment
from .alignments import ForwardAlignment as ForwardAlignment
from .alignments import LocalMonotonic as LocalMonotonic
from .alignments import LocalPredictive as LocalPredictive
from .alignments import Monotonic as Monotonic
from .alignments import SimplexAlignment as SimplexAlignment
from .attention import AbstractAdditiveAttention as AbstractAdditiveAttention
from .attention import AbstractAttention as AbstractAttention
from .attention import AbstractHistoryAttention as AbstractHistoryAttention
from .attention import AbstractMemoryAttention as AbstractMemoryAttention
from .attention import AbstractProjectedAttention as AbstractProjectedAttention
from .attention import AttentionPooling as AttentionPooling
from .attention import BahdanauAttention as BahdanauAttention
from .attention import CosineAttention as CosineAttention
from .attention import CoverageAttention as CoverageAttention
from .attention import DotAttention as DotAttention
from .attention import GaussianMixtureAttention as GaussianMixtureAttention
from .attention import GraphAttention as GraphAttention
from .attention import KernelAttention as KernelAttention
from .attention import LocationAttention as LocationAttention
from .attention import LocationAwareAttention as LocationAwareAttention
from .attention import LuongGeneral as LuongGeneral
from .attention import Memory as Memory
from .attention import SelfAttention as SelfAttention
from .attentional import AbstractAttentionalLayer as AbstractAttentionalLayer
from .callbacks import AttentionImages as AttentionImages
from .callbacks import ScheduledSampling as ScheduledSampling
from .cells import AttentionDecoderCell as AttentionDecoderCell
from .kernels import AbstractKernelLayer as AbstractKernelLayer
from .losses import GuidedAlignmentLoss as GuidedAlignmentLoss
from .losses import SequenceCrossentropy as SequenceCrossentropy
from .metrics import AbstractMeanMetric as AbstractMeanMetric
from .metrics import AbstractTokenMetric as AbstractTokenMetric
from .metrics import AttentionCoverage as AttentionCoverage
from .metrics import AttentionEntropy as AttentionEntropy
from .metrics import Perplexity as Perplexity
from .metrics import TokenAccuracy as TokenAccuracy
from .models import AbstractWordModel as AbstractWordModel
from .models import AttentionDecoder as AttentionDecoder
from .models import PointerGenerator as PointerGenerator
from .models import RecurrentEncoder as RecurrentEncoder
from .models import Seq2Seq as Seq2Seq
from .models import StateBridge as StateBridge
from .plots import plot_attention as plot_attention
from .plots import plot_attention_batch as plot_attention_batch
from .plots import plot_attention_heads as plot_attention_heads
from .plots import plot_attention_over_image as plot_attention_over_image
from .schedules import AbstractSchedule as AbstractSchedule
from .schedules import ConstantSchedule as ConstantSchedule
from .schedules import ExponentialSchedule as ExponentialSchedule
from .schedules import InverseSigmoidSchedule as InverseSigmoidSchedule
from .schedules import LinearSchedule as LinearSchedule
from .search import AbstractSearch as AbstractSearch
from .search import BeamSearch as BeamSearch
from .search import Generation as Generation
from .search import GreedySearch as GreedySearch
from .search import Sampling as Sampling
from .states import StateLayout as StateLayout
from .version import __version__ as __version__

NEED_TENSORFLOW = {
    "AbstractSaved": "text",
    "AbstractTokenizer": "text",
    "AbstractVocabularyTokenizer": "text",
    "CharacterTokenizer": "text",
    "SentencePieceTokenizer": "text",
    "Translation": "export",
    "TranslationGraph": "export",
    "Translator": "translator",
    "WordPieceTokenizer": "text",
    "WordTokenizer": "text",
    "parallel_dataset": "text",
}


def __getattr__(name):
    """Import what needs TensorFlow when it is first asked for."""
    if name not in NEED_TENSORFLOW:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f".{NEED_TENSORFLOW[name]}", __name__)
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise ImportError(
            f"keras_attention.{name} needs TensorFlow, which is not "
            "installed. Layers and training run without it; text and export "
            "do not. Install it with: pip install tensorflow"
        ) from error
    return getattr(module, name)


def __dir__():
    return sorted([*globals(), *NEED_TENSORFLOW])
