"""A translator written for other programs, read back, and run."""

from .folders import replaced_folder as replaced_folder
from .graph import TranslationGraph as TranslationGraph
from .saved_model import export_saved_model as export_saved_model
from .translation import Translation as Translation
from .translation import read_answer as read_answer
