"""Time and memory of a stream over a long source.

A one-way GRU of 64 units, hard monotonic additive attention, and sources of
10^5 positions in parts of 100, of which about one in ten is a stop:

    python benchmarks/streaming.py [--positions 100000] [--chunk 100]

It prints, for each tenth of the source, microseconds a position, words so
far, and what the stream keeps: positions of the memory, and bytes of its
whole state.
"""

import argparse
import statistics
import time
from typing import NamedTuple

import keras
import numpy as np

import keras_attention as ka

TENTHS = 10


class Tenth(NamedTuple):
    """What a tenth of the source took.

    Attributes:
        microseconds: Median of all parts, a position.
        words: Number of words so far.
        positions: Most positions that were kept after a part.
        bytes: Most bytes of the state after a part.
    """

    microseconds: float
    words: int
    positions: int
    bytes: int


def make_model(units: int) -> ka.Seq2Seq:
    """Make a model that stops at about one position in ten, without end."""
    keras.utils.set_random_seed(0)
    alignment = ka.Monotonic("hard", score_bias=-1.5)
    attention = ka.BahdanauAttention(units, alignment=alignment)
    cell = ka.AttentionDecoderCell(keras.layers.GRUCell(units), attention)
    model = ka.Seq2Seq(
        source_vocabulary_size=100,
        target_vocabulary_size=100,
        embedding_dim=units,
        encoder=ka.RecurrentEncoder(units, cell="gru", bidirectional=False),
        bridge=ka.StateBridge("zeros", bidirectional=False),
        decoder=ka.AttentionDecoder(cell),
    )
    model.build(((None, None), (None, None)))
    attention.score_vector.assign(4 * attention.score_vector)
    attention.query_kernel.assign(4 * attention.query_kernel)
    no_end = np.zeros(100)
    no_end[3] = -1e9
    model.output_layer.bias.assign(no_end)
    return model


def measure(positions: int, chunk: int, units: int = 64) -> list[Tenth]:
    """Stream one source, and return what each tenth of it took."""
    model = make_model(units)
    source = np.random.default_rng(0).integers(4, 100, (1, positions))
    stream = model.stream(max_length=positions)
    warm = model.stream(max_length=positions)
    for first in range(0, min(positions, 20 * chunk), chunk):
        warm.push(source[:, first : first + chunk])
    tenths, words = [], 0
    for begin in np.linspace(0, positions, TENTHS, False, dtype=int):
        times, kept, sizes = [], [], []
        for first in range(begin, begin + positions // TENTHS, chunk):
            began = time.perf_counter()
            words += len(stream.push(source[:, first : first + chunk])[0])
            times.append(time.perf_counter() - began)
            kept.append(stream.state.mask.shape[1])
            tensors = keras.tree.flatten(stream.state)
            arrays = [keras.ops.convert_to_numpy(x) for x in tensors]
            sizes.append(sum(x.nbytes for x in arrays))
        median = 1e6 * statistics.median(times) / chunk
        tenths.append(Tenth(median, words, max(kept), max(sizes)))
    return tenths


def main(positions: int, chunk: int, units: int):
    """Print one line for each tenth."""
    print("us/position     words  positions kept  bytes kept")
    for row in measure(positions, chunk, units):
        print("{:11.1f} {:9d} {:15d} {:11d}".format(*row), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=100_000)
    parser.add_argument("--chunk", type=int, default=100)
    parser.add_argument("--units", type=int, default=64)
    main(**vars(parser.parse_args()))
