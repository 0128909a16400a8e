"""`train TABLE`: from pairs of texts to a folder that translates."""

import argparse
import sys

import keras

from keras_attention.commands.arguments import RECIPE
from keras_attention.recipe import Recipe
from keras_attention.recipe import train_translator

WIDTH = 30  # of the progress bar


def run(arguments: argparse.Namespace):
    """Train a translator on pairs of texts, and keep the best epoch."""
    given = arguments.__dict__
    options = {name: given[name] for name in RECIPE if name in given}
    if "columns" in options:  # 0,1 or 0 1, or numbers of a file
        columns = options["columns"]
        columns = columns if isinstance(columns, list) else [columns]
        words = ",".join(map(str, columns)).split(",")
        numbers = (int(x) if x.strip().isdecimal() else x for x in words)
        options["columns"] = tuple(numbers)
    train_translator(
        arguments.files,
        arguments.validation,
        arguments.output,
        Recipe(**options),
        [Report()],
    )
    print(f"Translator: {arguments.output}")


class Report(keras.callbacks.Callback):
    """Prints a line an epoch, and shows a progress bar on a terminal."""

    def on_train_batch_end(self, batch, logs=None):
        if sys.stderr is not None and sys.stderr.isatty():
            count, steps = batch + 1, self.params["steps"]
            done = "#" * (WIDTH * count // steps)
            bar = f"[{done:{WIDTH}}] {count} of {steps}" * (count < steps)
            print(f"\r\x1b[K{bar}", end="", file=sys.stderr, flush=True)

    def on_epoch_end(self, epoch, logs=None):
        numbers = "".join(f"  {k} {v:.4g}" for k, v in logs.items())
        text = f"epoch {epoch + 1} of {self.params['epochs']}{numbers}"
        print(text, flush=True)
