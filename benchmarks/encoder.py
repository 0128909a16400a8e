"""Time of a bidirectional LSTM over the source.

`RecurrentEncoder` at 64 x 30 x 256 and 8 x 200 x 512 (sentences, words, units
and size of the inputs): forward and all gradients, and the forward pass of
inference alone.

    python benchmarks/encoder.py [--against keras bare torch] [--mode xla]

Peers: `keras`, `Bidirectional(LSTM)` in the mode that is measured; `bare`, only
the matrix products of a training step (`sides/encoder_bare.py`); and `torch`,
`nn.LSTM(bidirectional=True)`. Keras' and torch's numbers must first be ours.
`--clock cpu` prints CPU seconds of all threads in place of time, for a machine
that is busy with other work.
"""

import argparse

from decoder_step import MODES
from draws import encoder_arrays
from interleave import CLOCKS
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import EncoderWork

PEERS = {
    "keras": "Bidirectional(LSTM)",
    "bare": "bare products",
    "torch": "torch, nn.LSTM",
}
SIZES = (EncoderWork(), EncoderWork(batch=8, words=200, size=512, units=512))
TOLERANCE = 1e-4  # gradients are sums of thousands of float32 products


def line(peer: str, mode: str, work: EncoderWork, arrays, clock, rounds) -> str:
    """Measure one peer in one mode, and return its line."""
    module = "encoder_layer" if peer == "keras" else f"encoder_{peer}"
    theirs = work._replace(layer=peer)
    with (
        Process("ours", "encoder_layer", work, arrays, mode) as our_side,
        Process(PEERS[peer], module, theirs, arrays, mode) as their_side,
    ):
        if peer != "bare":
            compare(our_side, their_side, TOLERANCE)
        found = ratio(*map(CLOCKS[clock], (our_side, their_side)), rounds)
    size = f"{work.batch} x {work.words} x {work.units}"
    name = "training step" if work.gradient else "inference"
    return f"encoder, {name}, {size} | {PEERS[peer]} | {mode} | {found}"


def main(against: list, mode: str, clock: str, rounds: int):
    """Print a line for each size, peer and mode, and for inference."""
    for sized in SIZES:
        with stored(encoder_arrays(sized)) as arrays:
            for gradient in (True, False):
                work = sized._replace(gradient=gradient)
                # The bare products are those of a training step.
                peers = [x for x in against if gradient or x != "bare"]
                for peer in peers:
                    for each in MODES[mode]:
                        row = line(peer, each, work, arrays, clock, rounds)
                        print(row, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--against", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--mode", choices=MODES, default="both")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--rounds", type=int, default=15)
    main(**vars(parser.parse_args()))
