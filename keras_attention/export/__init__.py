"""A translator written for other programs, read back, and run."""

from keras_attention.text.tensors import HAS_TENSORFLOW

from .batches import count_ids as count_ids
from .batches import run_in_batches as run_in_batches
from .current_graph import CurrentGraph as CurrentGraph
from .formats import ExportFormat as ExportFormat
from .formats import find_format as find_format
from .formats import register_format as register_format
from .graph import TranslationGraph as TranslationGraph
from .parts import check_parts as check_parts
from .translation import Translation as Translation
from .translation import join_entries as join_entries
from .translation import read_answer as read_answer

if HAS_TENSORFLOW:  # which writes all formats
    from .litert import export_litert as export_litert
    from .litert_text import export_litert_text as export_litert_text
    from .onnx import export_onnx as export_onnx
    from .saved_model import export_saved_model as export_saved_model
    from .stream import export_stream as export_stream
