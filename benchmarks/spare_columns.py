"""Time with a few spare columns in kernels of loops, against that without.

Rows of a kernel that are a multiple of 2048 bytes apart collide in the cache,
so that loops on TensorFlow add columns to it (`ops/products.py`). Measured are
a training step of the decoder of `decoder_step.py`, one of a bidirectional
encoder, and the searches of `shortlist.py`. CPU time of all threads, by turns
in one process.

    python benchmarks/spare_columns.py [--mode default] [--batches 1 8 64]
"""

import argparse
import contextlib
import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from draws import decoder_arrays
from interleave import Here
from interleave import ratio
from shortlist import SEARCHES
from shortlist import WORDS
from shortlist import make_model
from sides.decoder_model import build
from works import DecoderWork

from keras_attention import RecurrentEncoder
from keras_attention.ops import portable_program

VOCABULARY = 8000
MODES = {"default": False, "xla": True}
ENCODERS = [(64, 30, 256), (8, 200, 512)]  # rows, words, units


def main(mode: str, batches: list[int], rounds: int):
    """Print a line for each training step, and for each search and batch."""
    xla = MODES[mode]
    works = {"decoder": make_decoder(xla)}
    for sizes in ENCODERS:
        name = f"encoder {' x '.join(map(str, sizes))}"
        works[name] = make_encoder(sizes, xla)
    for name, batch in [(x, y) for x in SEARCHES for y in batches]:
        works[f"{name}, batch {batch}"] = make_search(name, batch, xla)
    for name, make in works.items():
        wide = traced(make(), contextlib.nullcontext())
        narrow = traced(make(), portable_program())
        print(f"{name} | {mode} | {ratio(wide, narrow, rounds)}", flush=True)


def traced(run: Callable, context) -> Here:
    """Trace what is measured in a context, which decides about columns."""
    with context:
        run()
    return Here(run)


def make_decoder(xla: bool) -> Callable:
    """Return a maker of training steps of the decoder."""
    work = DecoderWork()
    arrays = decoder_arrays(work)
    given = [tf.constant(arrays[name]) for name in ("inputs", "memory")]
    return lambda: training_step(build(work, arrays)[0], given, xla)


def make_encoder(sizes: tuple[int, int, int], xla: bool) -> Callable:
    """Return a maker of training steps of an encoder."""
    inputs = np.random.default_rng(0).normal(size=sizes).astype("float32")

    def make():
        encoder = RecurrentEncoder(sizes[-1])
        encoder(inputs)
        return training_step(encoder, [tf.constant(inputs)], xla)

    return make


def training_step(layer, given: list, xla: bool) -> Callable:
    """Return a function that runs a layer and its gradient."""

    @tf.function(autograph=False, jit_compile=xla)
    def run():
        with tf.GradientTape() as tape:
            tape.watch(given)
            found = tf.nest.flatten(layer(*given, training=True))[0]
        return tape.gradient(found, [*given, *layer.trainable_variables])

    return run


def make_search(name: str, batch: int, xla: bool) -> Callable:
    """Return a maker of searches, each of a model of its own."""
    source = np.random.default_rng(1).integers(4, VOCABULARY, (batch, WORDS))

    def make():
        model = make_model(VOCABULARY, False)
        model.jit_compile = xla
        return functools.partial(
            model.generate, source, SEARCHES[name], None, False
        )

    return make


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=MODES, default="default")
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--rounds", type=int, default=9)
    main(**vars(parser.parse_args()))
