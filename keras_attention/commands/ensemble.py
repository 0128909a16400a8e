"""The command `ensemble FOLDER FOLDER -o FOLDER`."""

import argparse

from keras_attention.commands.arguments import PROGRAM
from keras_attention.recipe import load_ensemble


def run(arguments: argparse.Namespace):
    """Combine saved translators by averaging their output probabilities."""
    load_ensemble(arguments.folders).save(arguments.output)
    print(f"Translator: {arguments.output}")
    print(f"Next: {PROGRAM} translate {arguments.output} FILE")
