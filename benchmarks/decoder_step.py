"""How fast is a training step of the decoder?

Additive attention, LSTM of 512 units, batch 64, 30 words on either side,
inputs of size 256, in Bahdanau's order: forward and gradient of everything.

    python benchmarks/decoder_step.py [--against bare tfa torch] [--mode xla]

Against: `bare`, the matrix products of the same sizes and `tanh`
(`sides/decoder_bare.py`), in the mode that is measured; `tfa`, the
`BasicDecoder` of TensorFlow Addons in a `tf.function`, which feeds the
context to the next step instead: a neighbouring model of the same cost, so
its numbers are not compared; `torch`, an eager loop; and `jax`, `lax.scan`
under `jit`. These two must give the same outputs and gradients first.
"""

import argparse

import environment
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import DecoderWork
from works import decoder_arrays

MODES = {"xla": ["xla"], "default": ["default"], "both": ["xla", "default"]}
PEERS = {
    "bare": "bare products",
    "tfa": "TensorFlow Addons",
    "torch": "torch, eager",
    "jax": "jax.lax.scan, jit",
}
# Gradients are sums over some thousand float32 products. XLA's own lie 1e-4
# from those of the same graph in the default mode, and TFA's lie with those.
TOLERANCE = 2e-4


def main(against: list, mode: str, peer_environment):
    """Print one line for each peer and mode."""
    work = DecoderWork()
    with stored(decoder_arrays(work)) as arrays:
        for peer in against:
            for each in MODES[mode]:
                row = line(peer, each, work, arrays, peer_environment)
                print(row, flush=True)


def line(peer, mode, work, arrays, peer_environment) -> str:
    """Measure one row."""
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
