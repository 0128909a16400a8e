"""Time and memory of the cross-entropy of a large vocabulary.

The output layer, `SequenceCrossentropy` and the gradient of both, for 64 x 30
words and a vocabulary of 32,000 (`works.CrossentropyWork`), against the same
formula differentiated automatically, Keras' `SparseCategoricalCrossentropy`,
and torch.

    python benchmarks/crossentropy.py [--mode xla] [--smoothing 0.1]

Memory is the peak of one step minus the memory in use before it. All sides
must first give the same loss and gradients.
"""

import argparse

from decoder_step import MODES
from draws import crossentropy_arrays
from interleave import ratio
from process import RETURN_MEMORY
from process import Process
from process import compare
from process import stored
from works import CrossentropyWork

PEERS = {
    "formula": "the formula, differentiated",
    "keras": "SparseCategoricalCrossentropy",
    "torch": "torch, eager",
}
# Gradients are sums of thousands of float32 products.
TOLERANCE = 1e-4


def main(mode: str, against: list, **sizes):
    """Print a line for time and a line for memory of each peer and mode."""
    work = CrossentropyWork(**sizes)
    if work.smoothing:
        against = [peer for peer in against if peer != "keras"]
    with stored(crossentropy_arrays(work)) as arrays:
        for each in MODES[mode]:
            for peer in against:
                print(line(work, arrays, peer, each), flush=True)


def line(work: CrossentropyWork, arrays, peer: str, mode: str) -> str:
    """Measure one peer in one mode, and return two lines."""

    def side(loss, **environment):
        own, module = work._replace(loss=loss), "crossentropy"
        how = mode
        if loss == "torch":
            own, module, how = work, "crossentropy_torch", "eager"
        return Process(loss, module, own, arrays, how, **environment)

    with side("ours") as ours, side(peer) as theirs:
        compare(ours, theirs, TOLERANCE)
        time = ratio(ours, theirs, 7)
    peaks = []
    for loss in ("ours", peer):
        with side(loss, **RETURN_MEMORY) as process:
            peaks.append(process.memory() / 1e6)
    row = f"{PEERS[peer]} | {mode}"
    return (
        f"output layer and loss | {row} | {time}\n"
        f"their extra memory | {row} | {peaks[0] / peaks[1]:.2f}, "
        f"{peaks[0]:.0f} MB against {peaks[1]:.0f} MB"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=MODES, default="both")
    parser.add_argument("--against", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--smoothing", type=float, default=0.0)
    parser.add_argument("--vocabulary", type=int, default=32000)
    main(**vars(parser.parse_args()))
