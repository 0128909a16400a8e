"""Attention for recurrent encoder-decoders, as serializable Keras 3 layers."""

import importlib
import importlib.util

from .version import __version__ as __version__

# Every public name, and the room it lives in; `__init__.pyi` tells editors.
NAMES = {
    "AbstractAlignment": "alignments",
    "ForwardAlignment": "alignments",
    "LocalMonotonic": "alignments",
    "LocalPredictive": "alignments",
    "Monotonic": "alignments",
    "AbstractAttention": "attention",
    "AttentionPooling": "attention",
    "BahdanauAttention": "attention",
    "ChunkwiseAttention": "attention",
    "CosineAttention": "attention",
    "CoverageAttention": "attention",
    "DotAttention": "attention",
    "DynamicConvolutionAttention": "attention",
    "GaussianMixtureAttention": "attention",
    "GraphAttention": "attention",
    "KernelAttention": "attention",
    "LocationAttention": "attention",
    "LocationAwareAttention": "attention",
    "LuongGeneral": "attention",
    "Memory": "attention",
    "MultiHead": "attention",
    "SelfAttention": "attention",
    "AttentionDecoder": "decoder",
    "AttentionDecoderCell": "decoder",
    "FreeRunningDecoder": "decoder",
    "LayerNormLSTMCell": "decoder",
    "StateBridge": "decoder",
    "Translation": "translation",
    "export_stream": "export",
    "from_keras_layers": "migration",
    "load_tfa_weights": "migration",
    "LexicalTranslation": "models",
    "PointerGenerator": "models",
    "RecurrentEncoder": "models",
    "Seq2Seq": "models",
    "plot_attention": "plots",
    "plot_attention_batch": "plots",
    "plot_attention_heads": "plots",
    "plot_attention_over_image": "plots",
    "AbstractSearch": "search",
    "BeamSearch": "search",
    "Generation": "search",
    "GreedySearch": "search",
    "Sampling": "search",
    "Shortlist": "search",
    "AbstractTokenizer": "text",
    "CharacterTokenizer": "text",
    "SentencePieceTokenizer": "text",
    "WordPieceTokenizer": "text",
    "WordTokenizer": "text",
    "parallel_dataset": "text",
    "AttentionCoverage": "training",
    "AttentionEntropy": "training",
    "AttentionImages": "training",
    "AverageWeights": "training",
    "GuidedAlignmentLoss": "training",
    "InverseSigmoidSchedule": "training",
    "InverseSquareRootSchedule": "training",
    "Perplexity": "training",
    "ResumeTraining": "training",
    "ScheduledSampling": "training",
    "SequenceCrossentropy": "training",
    "TokenAccuracy": "training",
    "ValidationBleu": "training",
    "alignment_error_rate": "training",
    "Translator": "translator",
}
LATE = {"export", "text", "translator"}  # import TensorFlow, where it is there

__all__ = sorted(NAMES)
if importlib.util.find_spec("tensorflow") is None:
    __all__.remove("export_stream")  # a star would ask for it

for _room in dict.fromkeys(NAMES.values()):
    if _room not in LATE:  # or Keras would not know the classes in a file
        importlib.import_module(f".{_room}", __name__)


def __getattr__(name):
    """Take a public name out of its room, imported when first asked for."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module(f".{NAMES[name]}", __name__)
    if not hasattr(room, name):
        raise ImportError(
            f"keras_attention.{name} needs TensorFlow, which is not installed. "
            "All but exports and WordPieceTokenizer runs without it. Install "
            'it with: pip install "keras-attention[tensorflow]"'
        )
    return getattr(room, name)


def __dir__():
    return [*__all__, "__version__"]
