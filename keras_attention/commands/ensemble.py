"""`ensemble FOLDER FOLDER -o FOLDER`: several saved translators as one."""

import argparse

from keras_attention.commands.arguments import PROGRAM
from keras_attention.recipe import load_ensemble


def run(arguments: argparse.Namespace):
    """Join saved translators to one that averages their probabilities."""
    load_ensemble(arguments.folders).save(arguments.output)
    print(f"Translator: {arguments.output}")
    print(f"Next: {PROGRAM} translate {arguments.output} FILE")
