"""Growth of a decoder step's time and memory with the lengths.

Sizes as in `decoder_step.py`, with targets of 15 to 120 words (`T`) and
sources of 30 to 480 (`Tv`). For each it prints the time, the time per
multiplication in picoseconds, the peak memory of a step, and that memory per
pair of words, in bytes; there are `B T Tv` pairs. Time per multiplication and
memory per pair should not grow. With `--long` both are up to 1000 words, in
one sentence a batch.

    python benchmarks/scaling.py [--mode xla] [--long] [--clock cpu]

`--clock cpu` prints CPU seconds of all threads in place of time, for a machine
that is busy with other work.
"""

import argparse
import statistics

from decoder_step import MODES
from draws import decoder_arrays
from interleave import CLOCKS
from process import RETURN_MEMORY
from process import Process
from process import stored
from works import DecoderWork

STEPS = (15, 30, 60, 120)
WORDS = (30, 60, 120, 240, 480)
LENGTHS = (250, 500, 1000)
ROUNDS = 7
LONG_ROUNDS = 1
TANH = 10  # cost of one `tanh` in multiplications, roughly
ROW = "{:>7} | {:>4} | {:>4} | {:>8} | {:>10} | {:>8} | {:>10}"
HEADS = "mode", "T", "Tv", "ms", "ps / mult.", "MB", "B / pair"


def multiplications(work: DecoderWork) -> int:
    """Count the multiplications of a training step with additive attention.

    Every product is computed three times: forward, and for the gradients of
    both factors. `tanh` of keys plus query is computed forward and again
    backward, where its derivative takes three multiplications more.

    Args:
        work: The sizes, with an LSTM.

    Returns:
        The number of multiplications.
    """
    u, words = work.units, work.words
    gates = 4 * u * (work.size + u + u)  # inputs, context, state
    query, mix, score = u * u, words * u, words * u
    each = 3 * (gates + query + mix + score) + (2 * TANH + 3) * words * u
    keys = 3 * words * u * u
    return work.batch * (work.steps * each + keys)


def row(work: DecoderWork, mode: str, clock: str, rounds: int) -> str:
    """Measure one pair of lengths, and return its row."""
    with stored(decoder_arrays(work)) as arrays:
        with Process("ours", "decoder_ours", work, arrays, mode) as side:
            side.run()
            timed = CLOCKS[clock](side)
            seconds = statistics.median(timed.run() for _ in range(rounds))
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


def tables(is_long: bool) -> list[list[DecoderWork]]:
    """Return the sizes of the rows of both tables."""
    work, steps, words = DecoderWork(), STEPS, WORDS
    if is_long:
        work = work._replace(batch=1, steps=LENGTHS[-1], words=LENGTHS[-1])
        steps = words = LENGTHS
    targets = [work._replace(steps=n) for n in steps]
    return [targets, [work._replace(words=n) for n in words]]


def main(mode: str, is_long: bool, clock: str):
    """Print a table for longer targets, and one for longer sources."""
    rounds = LONG_ROUNDS if is_long else ROUNDS
    for each in MODES[mode]:
        for works in tables(is_long):
            print(ROW.format(*HEADS))
            for sized in works:
                print(row(sized, each, clock, rounds), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=MODES, default="xla")
    parser.add_argument("--long", action="store_true", dest="is_long")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    main(**vars(parser.parse_args()))
