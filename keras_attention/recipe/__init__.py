"""From pairs of texts to a trained translator: what `train` does."""

from .adapt import NOTE as NOTE
from .adapt import fixed_options as fixed_options
from .members import load_average as load_average
from .members import load_ensemble as load_ensemble
from .options import ATTENTIONS as ATTENTIONS
from .options import TOKENIZERS as TOKENIZERS
from .options import Recipe as Recipe
from .texts import make_tokenizers as make_tokenizers
from .texts import read_texts as read_texts
from .training import CURVES as CURVES
from .training import make_model as make_model
from .translator import train_translator as train_translator
