"""From pairs of texts to a trained translator: what `train` does."""

from .members import load_average as load_average
from .members import load_ensemble as load_ensemble
from .model import ATTENTIONS as ATTENTIONS
from .model import make_model as make_model
from .options import NOTE as NOTE
from .options import Recipe as Recipe
from .options import fixed_options as fixed_options
from .texts import TOKENIZERS as TOKENIZERS
from .texts import make_tokenizers as make_tokenizers
from .texts import read_texts as read_texts
from .training import CURVES as CURVES
from .translator import train_translator as train_translator
