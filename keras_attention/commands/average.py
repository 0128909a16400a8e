"""`average FOLDER FOLDER -o FOLDER`: several saved translators as one."""

import argparse

from keras_attention.commands.arguments import PROGRAM
from keras_attention.recipe import load_average


def run(arguments: argparse.Namespace):
    """Average the weights of checkpoints of a training, and save the mean."""
    load_average(arguments.folders).save(arguments.output)
    print(f"Translator: {arguments.output}")
    print(f"Next: {PROGRAM} translate {arguments.output} FILE")
