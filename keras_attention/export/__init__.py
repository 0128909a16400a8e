"""Export translators and models to other runtimes."""

import importlib.util

from .formats import FORMATS as FORMATS
from .formats import ExportFormat as ExportFormat
from .formats import find_format as find_format
from .formats import register_format as register_format

if importlib.util.find_spec("tensorflow") is not None:  # which writes all
    from . import onnx_pieces as onnx_pieces
    from .litert import export_litert as export_litert
    from .litert import export_litert_text as export_litert_text
    from .model import export_model as export_model
    from .onnx import export_onnx as export_onnx
    from .onnx_text import export_onnx_text as export_onnx_text
    from .saved_model import export_saved_model as export_saved_model
    from .stream import export_stream as export_stream
    from .tensor_tokenizer import TensorTokenizer as TensorTokenizer
