"""Does the decoder's step grow no faster than its work?

Sizes as in `decoder_step.py`, and then longer targets (`T`, 15 to 120) and
longer sources (`Tv`, 30 to 480). For each it prints the time; the time of one
multiplication, in picoseconds; the memory that a step needs at its peak; and
that in bytes for each of the `B T Tv` pairs of words. The figures for one
multiplication and for one pair should not rise.

    python benchmarks/scaling.py [--mode xla]
"""

import argparse
import statistics

from decoder_step import MODES
from process import RETURN_MEMORY
from process import Process
from process import stored
from works import DecoderWork
from works import decoder_arrays

STEPS = (15, 30, 60, 120)
WORDS = (30, 60, 120, 240, 480)
ROUNDS = 7
TANH = 10  # multiplications in one `tanh`, about
ROW = "{:>7} | {:>4} | {:>4} | {:>8} | {:>10} | {:>8} | {:>10}"
HEADS = "mode", "T", "Tv", "ms", "ps / mult.", "MB", "B / pair"


def multiplications(work: DecoderWork) -> int:
    """Count what a step of an LSTM with additive attention multiplies.

    Every product is done three times: forward, and for the gradients of what
    it multiplies. `tanh` of keys plus query is computed forward and again
    backward, where its derivative takes three more.

    Args:
        work: The sizes.
    """
    u, words = work.units, work.words
    gates = 4 * u * (work.size + u + u)  # inputs, context, state
    query, mix, score = u * u, words * u, words * u
    each = 3 * (gates + query + mix + score) + (2 * TANH + 3) * words * u
    keys = 3 * words * u * u
    return work.batch * (work.steps * each + keys)


def row(work: DecoderWork, mode: str) -> str:
    """Measure one pair of lengths."""
    with stored(decoder_arrays(work)) as arrays:
        with Process("ours", "decoder_ours", work, arrays, mode) as side:
            side.run()
            seconds = statistics.median(side.run() for _ in range(ROUNDS))
        with Process(
            "ours", "decoder_ours", work, arrays, mode, **RETURN_MEMORY
        ) as side:
            memory = side.memory()
    pairs = work.batch * work.steps * work.words
    return ROW.format(
        mode,
        work.steps,
        work.words,
        f"{1e3 * seconds:.0f}",
        f"{1e12 * seconds / multiplications(work):.1f}",
        f"{memory / 1e6:.0f}",
        f"{memory / pairs:.0f}",
    )


def main(mode: str):
    """Print a table for longer targets, and one for longer sources."""
    work = DecoderWork()
    targets = [work._replace(steps=steps) for steps in STEPS]
    sources = [work._replace(words=words) for words in WORDS]
    for each in MODES[mode]:
        for works in (targets, sources):
            print(ROW.format(*HEADS))
            for sized in works:
                print(row(sized, each), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=MODES, default="xla")
    main(**vars(parser.parse_args()))
