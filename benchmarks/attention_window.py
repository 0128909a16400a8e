"""Time of a step of a search, by the length of its source.

Greedy search in batches of 4, a GRU of 256 units and additive attention, with
all positions and with `attention_window=(5, 20)`. The time of a step is that
of 220 steps less that of 20, by 200: what is done once for a source is left
out. It is CPU time, of all threads. Ratios are to the shortest source.

    python benchmarks/attention_window.py [--lengths 100 1000 10000]
"""

import argparse
import statistics
import time

import keras
import numpy as np

import keras_attention as ka

UNITS, BATCH, TIMES = 256, 4, 5
WINDOWS = {"all positions": None, "window (5, 20)": (5, 20)}


class Given(keras.layers.Layer):
    """Returns a source as its own encoding."""

    def call(self, x):
        return x, x[:, 0]


def make_model(window) -> ka.Seq2Seq:
    """Make a model whose sources are features."""
    cell = ka.AttentionDecoderCell(
        keras.layers.GRUCell(UNITS),
        ka.BahdanauAttention(UNITS),
        attention_window=window,
    )
    return ka.Seq2Seq(
        source_vocabulary_size=None,
        target_vocabulary_size=100,
        embedding_dim=UNITS,
        encoder=Given(),
        decoder=ka.AttentionDecoder(cell),
    )


def seconds_of_a_step(model, source) -> float:
    """Measure the CPU time of a step, the median of a few."""

    def run(steps):
        search = ka.GreedySearch(max_length=steps, min_length=steps)
        model.generate(source, search, return_attention_scores=False)

    found = []
    for _ in range(TIMES + 1):  # the first time compiles
        seconds = []
        for steps in (20, 220):
            start = time.process_time()
            run(steps)
            seconds.append(time.process_time() - start)
        found.append((seconds[1] - seconds[0]) / 200)
    return statistics.median(found[1:])


def main(lengths: list[int]):
    """Print a line for each window and length."""
    for name, window in WINDOWS.items():
        model, first = make_model(window), None
        for length in lengths:
            draw = np.random.default_rng(0).normal
            source = draw(size=(BATCH, length, UNITS)).astype("float32")
            model((source, np.full((BATCH, 1), 2, "int32")))
            step = seconds_of_a_step(model, source)
            first = step if first is None else first
            print(
                f"{name} | {length} positions | {1000 * step:.2f} ms a step | "
                f"{step / first:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--lengths", nargs="+", type=int, default=[100, 1000, 10000]
    )
    main(**vars(parser.parse_args()))
