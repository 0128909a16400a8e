"""The command `train FILES`, which trains a translator on pairs of texts."""

import argparse
import sys
import time

import keras

from keras_attention.commands.arguments import PROGRAM
from keras_attention.recipe import train_translator

WIDTH = 30  # of the progress bar
FIRST, LAST = 5, 15  # batches that are timed


def run(arguments: argparse.Namespace):
    """Train a translator on pairs of texts, and keep the best epoch."""
    report = _say_nothing if arguments.quiet else _say
    progress = Report()  # the same callbacks, so that each resumes the other
    progress.quiet = arguments.quiet
    try:
        train_translator(
            arguments.files,
            arguments.validation,
            arguments.output,
            arguments.recipe,
            [progress],
            report,
            init=arguments.init,
            unlabeled=arguments.unlabeled,
            teacher=arguments.teacher,
        )
    except KeyboardInterrupt:
        said = "Interrupted. Run the same command to resume the training."
        print(f"\n{said}", file=sys.stderr)
        raise
    report(f"Translator: {arguments.output}")
    report(f"Next: {PROGRAM} translate {arguments.output} FILE")


def _say(line: str):
    print(line, flush=True)


def _say_nothing(line: str):
    pass


class Report(keras.callbacks.Callback):
    """Prints a line per epoch, and shows a progress bar on a terminal."""

    quiet = False

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch, self.began = epoch, None

    def on_train_batch_end(self, batch, logs=None):
        if self.quiet:
            return
        self._estimate(batch)
        if sys.stderr is not None and sys.stderr.isatty():
            count, steps = batch + 1, self.params["steps"]
            done = "#" * (WIDTH * count // steps)
            bar = f"[{done:{WIDTH}}] {count} of {steps}" * (count < steps)
            print(f"\r\x1b[K{bar}", end="", file=sys.stderr)

    def _estimate(self, batch):
        """Print the estimated time per epoch, after some batches of the first.

        Earlier batches are not timed because they include tracing.
        """
        if self.epoch > 0 or self.params["steps"] < 2 * LAST:
            return
        if batch == FIRST:
            self.began = time.perf_counter()
        elif batch == LAST and self.began is not None:
            seconds = (time.perf_counter() - self.began) / (LAST - FIRST)
            seconds *= self.params["steps"]
            _say(f"About {seconds:.0f} s per epoch, without validation")

    def on_epoch_end(self, epoch, logs=None):
        if self.quiet:
            return
        numbers = "".join(f"  {k} {v:.4g}" for k, v in logs.items())
        text = f"epoch {epoch + 1} of {self.params['epochs']}{numbers}"
        print(text, flush=True)
