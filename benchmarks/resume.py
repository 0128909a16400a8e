"""What `resumable_fit` costs while a model trains.

A model trains on the same batches by `resumable_fit` and by `fit`: a
bidirectional LSTM of 256 units in each direction, an LSTM of 512 units with
additive attention and a vocabulary of 8000 (`works.FitWork`), by Adam, on
batches of 64 sentences of 15 words.

    python benchmarks/resume.py [--epochs 7] [--batches 450] [--every 100]

Epochs with and without take turns, in one process. It prints, with a state
after each epoch and with one after every 100 batches, the quartiles of the
ratio of the CPU seconds of neighbours, the share of the time in which states
are gathered and written, and the time and the size of one. The first state of
a training, before its first batch, is not counted: it is written once.
"""

import argparse
import statistics
import tempfile
import time

import keras
import numpy as np
import tensorflow as tf
from works import FitWork

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import resumable_fit
from keras_attention.resume.callbacks import OwnedCallbacks

BATCH, WORDS = 64, 15


def make_model(work: FitWork) -> Seq2Seq:
    """Make the model that trains."""
    units = 2 * work.units
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(units), BahdanauAttention(units)
    )
    model = Seq2Seq(
        source_vocabulary_size=work.vocabulary,
        target_vocabulary_size=work.vocabulary,
        embedding_dim=work.units,
        encoder=RecurrentEncoder(work.units),
        decoder=AttentionDecoder(cell),
        bridge=StateBridge(),
    )
    model.compile("adam", SequenceCrossentropy(), jit_compile=False)
    model.build(((None, None), (None, None)))
    return model


def make_data(work: FitWork, batches: int) -> tf.data.Dataset:
    """Make batches of words that are drawn once."""
    draw = np.random.default_rng(0).integers
    ids = draw(4, work.vocabulary, (batches * BATCH, WORDS), "int32")
    data = tf.data.Dataset.from_tensor_slices(((ids, ids), ids))
    return data.batch(BATCH, drop_remainder=True)


class Clock:
    """Times the states that are written after the first."""

    def __init__(self):
        self.times = []
        self.write = OwnedCallbacks.write

    def __call__(self, run: OwnedCallbacks, *arguments, begun: bool = True):
        """Gather and write a state."""
        began = time.perf_counter(), time.process_time()
        self.write(run, *arguments, begun=begun)
        self.size = run.file.stat().st_size
        took = time.perf_counter() - began[0], time.process_time() - began[1]
        if not begun:
            self.first = took
        else:
            self.times.append(took[0])


def measure(model, data, epochs: int, save_freq, clock: Clock) -> str:
    """Train by turns, and return a line of figures."""
    ratios, total, clock.times = [], 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(epochs):
            seconds = []
            kept = {"folder": f"{folder}/{number}", "save_freq": save_freq}
            for fit, options in ((keras.Model.fit, {}), (resumable_fit, kept)):
                clock.first = 0.0, 0.0
                began = time.perf_counter(), time.process_time()
                fit(model, x=data, shuffle=False, verbose=0, **options)
                took = time.perf_counter() - began[0] - clock.first[0]
                seconds.append(time.process_time() - began[1] - clock.first[1])
            total += took
            ratios.append(seconds[1] / seconds[0])
    low, middle, high = statistics.quantiles(ratios, n=4)
    return (
        f"resume | {save_freq} | {middle:.4f} (quartiles {low:.4f} to "
        f"{high:.4f}) | {sum(clock.times) / total:.2%} of {total / epochs:.1f} "
        f"s an epoch | {1000 * statistics.median(clock.times):.0f} ms a state "
        f"of {clock.size / 2**20:.0f} MiB"
    )


def main(epochs: int, batches: int, every: int):
    """Print a line for each frequency."""
    work, clock = FitWork(), Clock()
    OwnedCallbacks.write = lambda *x, **options: clock(*x, **options)
    model, data = make_model(work), make_data(work, batches)
    model.fit(data.take(3), verbose=0, shuffle=False)
    for save_freq in ("epoch", every):
        print(measure(model, data, epochs, save_freq, clock), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--batches", type=int, default=450)
    parser.add_argument("--every", type=int, default=100)
    main(**vars(parser.parse_args()))
