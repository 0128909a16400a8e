"""Time of a training step of hard attention, as a part of additive's.

Batches of 64 sources and targets of 30 words, 256 units, models as those of
`hard_attention.py`. CPU time of all threads, by turns in one process; the
median of the ratios.

    python benchmarks/hard_attention_step.py [--vocabularies 100 8000]
"""

import argparse
import functools

import hard_attention
import keras
import numpy as np
from interleave import Here
from interleave import ratio

from keras_attention import SequenceCrossentropy

ROWS, WORDS = 64, 30


def make_step(kind: str, vocabulary: int, jit: bool):
    """Return a function that trains a model of a kind on one batch."""
    model = hard_attention.make_model(kind, vocabulary, vocabulary)
    model.compile("sgd", SequenceCrossentropy(), jit_compile=jit)
    draw = np.random.default_rng(0).integers
    source, target = draw(4, vocabulary, (2, ROWS, WORDS + 1))
    batch = (source[:, 1:], target[:, :-1]), target[:, 1:]
    return functools.partial(model.train_on_batch, *batch)


def main():
    """Print a line for each vocabulary and kind."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--vocabularies", nargs="+", type=int, default=[100, 8000]
    )
    kinds = list(hard_attention.HARD)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--jit", action="store_true", help="compile by XLA")
    given = parser.parse_args()
    print("backend | vocabulary | kind | time / additive's")
    for vocabulary in given.vocabularies:
        additive = Here(make_step("additive", vocabulary, given.jit))
        for kind in given.kinds:
            hard = Here(make_step(kind, vocabulary, given.jit))
            found = ratio(hard, additive, given.rounds)
            row = keras.backend.backend(), vocabulary, kind, found
            print(*row, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
