"""`export FOLDER PATH`: a saved translator in another format."""

import argparse

from keras_attention.translator import Translator


def run(arguments: argparse.Namespace):
    """Write a saved translator in another format, and try what was written."""
    Translator.load(arguments.folder).export(
        arguments.path,
        arguments.format,
        max_length=arguments.max_length,
        quantize=arguments.quantize,
    )
