"""The command `average FOLDER FOLDER -o FOLDER`."""

import argparse

from keras_attention.commands.arguments import PROGRAM
from keras_attention.recipe import load_average


def run(arguments: argparse.Namespace):
    """Average the weights of checkpoints of one training."""
    load_average(arguments.folders).save(arguments.output)
    print(f"Translator: {arguments.output}")
    print(f"Next: {PROGRAM} translate {arguments.output} FILE")
