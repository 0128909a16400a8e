"""A translator written for other programs, read back, and run."""

from keras_attention.text.tensors import HAS_TENSORFLOW

from .formats import ExportFormat as ExportFormat
from .formats import find_format as find_format
from .formats import register_format as register_format

if HAS_TENSORFLOW:  # which writes all formats
    from .litert import export_litert as export_litert
    from .litert import export_litert_text as export_litert_text
    from .model import export_model as export_model
    from .onnx import export_onnx as export_onnx
    from .onnx_text import export_onnx_text as export_onnx_text
    from .saved_model import export_saved_model as export_saved_model
    from .stream import export_stream as export_stream
