"""A translator written for other programs, read back, and run."""

from .graph import TranslationGraph as TranslationGraph
from .litert import export_litert as export_litert
from .litert_text import export_litert_text as export_litert_text
from .onnx import export_onnx as export_onnx
from .saved_model import export_saved_model as export_saved_model
from .translation import Translation as Translation
from .translation import join_entries as join_entries
from .translation import read_answer as read_answer
