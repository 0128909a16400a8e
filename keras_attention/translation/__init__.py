"""Run texts through a model: rows, batches and results."""

from .checks import check_translator as check_translator
from .checks import read_phrases as read_phrases
from .checks import warn_of_missing as warn_of_missing
from .extension import extended_parts as extended_parts
from .features import feature_rows as feature_rows
from .model_file import about_writing as about_writing
from .model_file import check_content as check_content
from .model_file import load_model as load_model
from .model_file import save_model as save_model
from .model_file import upgrades as upgrades
from .program import NO_ID as NO_ID
from .program import TranslationProgram as TranslationProgram
from .program import has_terminal as has_terminal
from .program import in_batches as in_batches
from .program import warn_of_cuts as warn_of_cuts
from .result import Translation as Translation
from .result import join_entries as join_entries
