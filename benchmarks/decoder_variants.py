"""Time of decoders that TensorFlow Addons also has.

Luong's order with input feeding, sizes as in `decoder_step.py`: forward and
all gradients, against the same model as a `BasicDecoder` in a `tf.function`,
which must first give the same outputs and gradients.

    python benchmarks/decoder_variants.py [--variant plain gru] [--mode xla]

`plain` is an LSTM with additive attention, whose output is the context;
`general` has Luong's general score and an attentional layer; `gru` has a GRU
cell, and `stacked` two LSTM cells.
"""

import argparse
from pathlib import Path

import environment
from decoder_step import MODES
from decoder_step import TOLERANCE
from draws import decoder_arrays
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import DecoderWork

LUONG = DecoderWork(order="luong", output="attention")
VARIANTS = {
    "plain": LUONG,
    "general": LUONG._replace(score="general", layer=LUONG.units),
    "gru": LUONG._replace(cell="gru"),
    "stacked": LUONG._replace(depth=2),
}


def main(variant: list, mode: str, peer_environment: Path):
    """Print one line for each variant and mode."""
    python = environment.peer_python(peer_environment)
    for name in variant:
        work = VARIANTS[name]
        with (
            stored(decoder_arrays(work)) as arrays,
            Process(
                "TensorFlow Addons", "decoder_tfa", work, arrays, python=python
            ) as theirs,
        ):
            for each in MODES[mode]:
                with Process(
                    "ours", "decoder_ours", work, arrays, each
                ) as ours:
                    compare(ours, theirs, TOLERANCE)
                    found = ratio(ours, theirs)
                row = f"Luong's order, {name} | TensorFlow Addons | {each}"
                print(f"{row} | {found}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--variant", nargs="+", choices=VARIANTS, default=VARIANTS
    )
    parser.add_argument("--mode", choices=MODES, default="both")
    environment.add_arguments(parser)
    main(**vars(parser.parse_args()))
