"""CPU time of learning to pronounce, beside yoyodyne.

[yoyodyne](https://github.com/CUNY-CL/yoyodyne) is what such models are trained
with in torch. It needs an environment of its own; of its packages torchvision
and torchaudio are not used.

    python3 -m venv yoyodyne && yoyodyne/bin/pip install yoyodyne
    python benchmarks/transduction.py --data ice_train.tsv \
        --peer yoyodyne/bin/python [--threads 1]

The table has a word, a tab, and its sounds between spaces. Both sides have a
bidirectional LSTM with 256 units in each direction, an LSTM of 256, additive
attention and embeddings of 64 (`works.TransductionWork`), and read the table
in batches of 100. They train an epoch by Adam, and translate all words by
greedy search, with random weights, up to the longest target. Weights are drawn
by each side, so nothing but their numbers is compared. The figure is the ratio
of CPU seconds: below 1 is better than the peer.
"""

import argparse
from pathlib import Path

import numpy as np
from interleave import CpuClock
from interleave import ratio
from process import Process
from process import stored
from works import TransductionWork

from keras_attention import read_pairs

MODES = ("train", "translate")


def measure(mode: str, work, arrays: Path, peer: str, threads: int) -> str:
    """Measure one mode, and return its line."""
    names = "OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"
    options = dict.fromkeys(names, str(threads))
    given = work, arrays, mode
    with (
        Process("ours", "transduction_ours", *given, **options) as ours,
        Process(
            "yoyodyne", "transduction_yoyodyne", *given, peer, **options
        ) as theirs,
    ):
        counts = [int(side.numbers()["weights"]) for side in (ours, theirs)]
        found = ratio(*map(CpuClock, (ours, theirs)), rounds=7)
    return f"{mode} | {threads} | {found} | {counts} weights"


def main(data: Path, peer: str, threads: int):
    """Print one line for each mode."""
    sources, targets = map(np.array, read_pairs(data))
    longest = 1 + max(len(x.split()) for x in targets.tolist())
    work = TransductionWork(longest=longest)
    with stored({"sources": sources, "targets": targets}) as arrays:
        for mode in MODES:
            print(measure(mode, work, arrays, peer, threads), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peer", required=True, help="Python with yoyodyne")
    parser.add_argument("--threads", type=int, default=1)
    main(**vars(parser.parse_args()))
