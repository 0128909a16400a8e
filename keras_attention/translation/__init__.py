"""Text through a model: graph, batches, and what comes of it."""

from .batches import has_terminal as has_terminal
from .batches import in_batches as in_batches
from .batches import read_rows as read_rows
from .batches import warn_of_cuts as warn_of_cuts
from .checks import check_translator as check_translator
from .extension import extended_parts as extended_parts
from .features import cut_attention as cut_attention
from .features import feature_rows as feature_rows
from .graph import TranslationGraph as TranslationGraph
from .model_file import about_writing as about_writing
from .model_file import check_content as check_content
from .model_file import load_model as load_model
from .model_file import save_model as save_model
from .model_file import upgrades as upgrades
from .phrases import padded_phrases as padded_phrases
from .phrases import read_phrases as read_phrases
from .phrases import warn_of_missing as warn_of_missing
from .result import Translation as Translation
from .result import join_entries as join_entries
from .result import read_answers as read_answers
