"""Time of a training step of the decoder.

Additive attention, LSTM of 512 units, batch 64, sources and targets of 30
words, inputs of size 256, in Bahdanau's order: forward and all gradients.

    python benchmarks/decoder_step.py [--against bare tfa torch] [--mode xla]

Peers: `bare`, only the matrix products of the same sizes and `tanh`
(`sides/decoder_bare.py`), in the mode that is measured; `tfa`, the
`BasicDecoder` of TensorFlow Addons in a `tf.function`; `torch`, an eager
loop; and `jax`, `lax.scan` under `jit`. TFA feeds the context to the next
step instead, a similar model of the same cost, so its numbers are not
compared. Those of torch and JAX must first be equal to ours.
"""

import argparse
from pathlib import Path

import environment
from draws import decoder_arrays
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import DecoderWork

MODES = {"xla": ["xla"], "default": ["default"], "both": ["xla", "default"]}
PEERS = {
    "bare": "bare products",
    "tfa": "TensorFlow Addons",
    "torch": "torch, eager",
    "jax": "jax.lax.scan, jit",
}
# Gradients are sums of thousands of float32 products. Those of one graph
# differ by 1e-4 between XLA and the default mode; TFA's equal the latter.
TOLERANCE = 2e-4


def main(against: list, mode: str, peer_environment: Path):
    """Print one line for each peer and mode."""
    work = DecoderWork()
    with stored(decoder_arrays(work)) as arrays:
        for peer in against:
            for each in MODES[mode]:
                row = line(peer, each, work, arrays, peer_environment)
                print(row, flush=True)


def line(peer: str, mode: str, work, arrays, peer_environment: Path) -> str:
    """Measure one peer in one mode, and return its line."""
    python = environment.python_of(peer, peer_environment)
    theirs_mode = mode if peer == "bare" else "default"
    with (
        Process("ours", "decoder_ours", work, arrays, mode) as ours,
        Process(
            PEERS[peer], f"decoder_{peer}", work, arrays, theirs_mode, python
        ) as theirs,
    ):
        if peer in ("torch", "jax"):
            compare(ours, theirs, TOLERANCE)
        found = ratio(ours, theirs)
    return f"decoder step | {PEERS[peer]} | {mode} | {found}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--against", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--mode", choices=MODES, default="both")
    environment.add_arguments(parser)
    main(**vars(parser.parse_args()))
