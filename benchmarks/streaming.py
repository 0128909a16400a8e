"""Time and memory of a stream over a long source.

Recurrent layers of 64 units, chunkwise attention to 8 positions, and a source
of 10^5 positions in parts of 100, of which about one in ten is a stop:

    python benchmarks/streaming.py [--positions 100000] [--chunk 100]

It prints, for each tenth of the source, CPU microseconds a position, words so
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
        microseconds: CPU time of a position, the median of all parts.
        words: Number of words so far.
        positions: Most positions that were kept after a part.
        bytes: Most bytes of the state after a part.
    """

    microseconds: float
    words: int
    positions: int
    bytes: int


def make_model(units: int) -> ka.Seq2Seq:
    """Make a model that moves on to every tenth position, and never ends.

    Of 100 ids ten are high, and ten are low. The query is high and low by
    turns, and attention stops at the next id of its kind.
    """
    keras.utils.set_random_seed(0)
    alignment = ka.Monotonic("hard", score_bias=-0.1)
    cell = keras.layers.SimpleRNNCell(units)
    model = ka.Seq2Seq(
        source_vocabulary_size=100,
        target_vocabulary_size=100,
        embedding_dim=units,
        encoder=keras.layers.SimpleRNN(units, return_sequences=True),
        decoder=ka.AttentionDecoder(
            ka.AttentionDecoderCell(
                cell,
                ka.ChunkwiseAttention(
                    ka.DotAttention(alignment=alignment), ka.DotAttention(), 8
                ),
                order="luong",
                input_feeding=False,
            )
        ),
    )
    model.build(((None, None), (None, None)))
    one = np.zeros((units, units))
    one[0, 0] = 1.0
    ids = np.zeros((100, units))
    ids[10:20, 0], ids[20:30, 0] = 4.0, -4.0
    model.source_embedding.embeddings.assign(ids)
    model.encoder.cell.kernel.assign(one)
    model.encoder.cell.recurrent_kernel.assign(0 * one)
    cell.kernel.assign(0 * cell.kernel)
    cell.recurrent_kernel.assign(-2 * one)
    cell.bias.assign(0.3 * one[0])
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
            began = time.process_time()
            words += len(stream.push(source[:, first : first + chunk])[0])
            times.append(time.process_time() - began)
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
