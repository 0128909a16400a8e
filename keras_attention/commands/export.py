"""`export FOLDER PATH`: a saved translator in another format."""

import argparse

from keras_attention.export.formats import FORMATS
from keras_attention.translator import Translator


def add_arguments(parser: argparse.ArgumentParser):
    """Add the arguments of the command."""
    add = parser.add_argument
    add("folder", help="what Translator.save has written")
    add("path", help="what to write: a folder, a *.tflite or a *.onnx file")
    default, about = "tf_saved_model", "the format (tf_saved_model)"
    add("--format", choices=list(FORMATS), default=default, help=about)
    add("--quantize", metavar="HOW", help="of LiteRT: float16 or int8")
    add("--max-length", type=int, metavar="T", help="most tokens of a text")


def run(arguments: argparse.Namespace):
    """Write a saved translator in another format, and try what was written."""
    Translator.load(arguments.folder).export(
        arguments.path,
        arguments.format,
        max_length=arguments.max_length,
        quantize=arguments.quantize,
    )
