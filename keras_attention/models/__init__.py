"""Models: encoders, encoder-decoders, language models and combinations."""

from .base import AbstractModel as AbstractModel
from .base import Begun as Begun
from .encoder import RecurrentEncoder as RecurrentEncoder
from .ensemble import Ensemble as Ensemble
from .language_model import LanguageModel as LanguageModel
from .seq2seq import Seq2Seq as Seq2Seq
from .shallow_fusion import ShallowFusion as ShallowFusion
