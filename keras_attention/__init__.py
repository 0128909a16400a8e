"""Attention for recurrent encoder-decoders, as serializable Keras 3 layers."""

import importlib
from typing import TYPE_CHECKING

from .alignments import AbstractAlignment as AbstractAlignment
from .alignments import ForwardAlignment
from .alignments import LocalMonotonic
from .alignments import LocalPredictive
from .alignments import Monotonic
from .attention import AbstractAttention as AbstractAttention
from .attention import AttentionPooling
from .attention import BahdanauAttention
from .attention import ChunkwiseAttention
from .attention import CosineAttention
from .attention import CoverageAttention
from .attention import DotAttention
from .attention import DynamicConvolutionAttention
from .attention import GaussianMixtureAttention
from .attention import GraphAttention
from .attention import KernelAttention
from .attention import LocationAttention
from .attention import LocationAwareAttention
from .attention import LuongGeneral
from .attention import Memory
from .attention import MultiHead
from .attention import SelfAttention
from .decoder import AttentionDecoder
from .decoder import AttentionDecoderCell
from .decoder import FreeRunningDecoder
from .decoder import LayerNormLSTMCell
from .decoder import StateBridge
from .migration import from_keras_layers as from_keras_layers
from .migration import load_tfa_weights
from .models import LexicalTranslation as LexicalTranslation
from .models import PointerGenerator
from .models import RecurrentEncoder
from .models import Seq2Seq
from .plots import plot_attention
from .plots import plot_attention_batch as plot_attention_batch
from .plots import plot_attention_heads as plot_attention_heads
from .plots import plot_attention_over_image as plot_attention_over_image
from .search import AbstractSearch as AbstractSearch
from .search import BeamSearch
from .search import Generation as Generation
from .search import GreedySearch
from .search import Sampling
from .search import Shortlist as Shortlist
from .training import AttentionCoverage
from .training import AttentionEntropy
from .training import AttentionImages
from .training import AverageWeights as AverageWeights
from .training import GuidedAlignmentLoss
from .training import InverseSigmoidSchedule
from .training import InverseSquareRootSchedule
from .training import Perplexity
from .training import ResumeTraining
from .training import ScheduledSampling
from .training import SequenceCrossentropy
from .training import TokenAccuracy
from .training import ValidationBleu as ValidationBleu
from .training import alignment_error_rate as alignment_error_rate
from .version import __version__ as __version__

if TYPE_CHECKING:  # what is imported below when it is first asked for
    from .export import Translation as Translation
    from .export import export_stream as export_stream
    from .text import AbstractTokenizer as AbstractTokenizer
    from .text import CharacterTokenizer
    from .text import SentencePieceTokenizer
    from .text import WordPieceTokenizer
    from .text import WordTokenizer
    from .text import parallel_dataset
    from .translator import Translator

__all__ = [
    "AttentionCoverage",
    "AttentionDecoder",
    "AttentionDecoderCell",
    "AttentionEntropy",
    "AttentionImages",
    "AttentionPooling",
    "BahdanauAttention",
    "BeamSearch",
    "CharacterTokenizer",
    "ChunkwiseAttention",
    "CosineAttention",
    "CoverageAttention",
    "DotAttention",
    "DynamicConvolutionAttention",
    "ForwardAlignment",
    "FreeRunningDecoder",
    "GaussianMixtureAttention",
    "GraphAttention",
    "GreedySearch",
    "GuidedAlignmentLoss",
    "InverseSigmoidSchedule",
    "InverseSquareRootSchedule",
    "KernelAttention",
    "LayerNormLSTMCell",
    "LocalMonotonic",
    "LocalPredictive",
    "LocationAttention",
    "LocationAwareAttention",
    "LuongGeneral",
    "Memory",
    "Monotonic",
    "MultiHead",
    "Perplexity",
    "PointerGenerator",
    "RecurrentEncoder",
    "ResumeTraining",
    "Sampling",
    "ScheduledSampling",
    "SelfAttention",
    "SentencePieceTokenizer",
    "Seq2Seq",
    "SequenceCrossentropy",
    "StateBridge",
    "TokenAccuracy",
    "Translator",
    "WordPieceTokenizer",
    "WordTokenizer",
    "load_tfa_weights",
    "parallel_dataset",
    "plot_attention",
]

LATE = {  # what imports TensorFlow, where it is installed
    "AbstractTokenizer": "text",
    "CharacterTokenizer": "text",
    "SentencePieceTokenizer": "text",
    "Translation": "export",
    "Translator": "translator",
    "WordPieceTokenizer": "text",
    "WordTokenizer": "text",
    "export_stream": "export",
    "parallel_dataset": "text",
}


def __getattr__(name):
    """Import what imports TensorFlow when it is first asked for."""
    if name not in LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{LATE[name]}", __name__)
    if not hasattr(module, name):
        raise ImportError(
            f"keras_attention.{name} needs TensorFlow, which is not installed. "
            "All but exports and WordPieceTokenizer runs without it. Install "
            'it with: pip install "keras-attention[tensorflow]"'
        )
    return getattr(module, name)


def __dir__():
    return sorted({*globals(), *LATE})
