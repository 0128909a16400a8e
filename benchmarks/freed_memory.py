"""CPU time of `fit` where freed memory is kept, against where it is given back.

The tensors of a training step are megabytes each. By default the C library of
Linux returns such memory to the system as soon as it is freed, and the next
step gets it back page by page, each filled with zeros. Kept for the next step
it costs nothing. Two ways to keep it:

- `oneDNN`: TensorFlow's allocator does, with `TF_ENABLE_ONEDNN_OPTS=1`, which
  is its default on processors with AVX-512 VNNI alone;
- `malloc`: a setting of the C library.

The model is that of `fit.py`, on made-up sentences. Each line has the ratio of
CPU seconds, user and system, and the peak memory of both processes.

    python benchmarks/freed_memory.py [--rounds 7] [--mode default xla]
"""

import argparse

from draws import fit_weights
from gpu import made_up_batches
from interleave import CpuClock
from interleave import ratio
from process import RETURN_MEMORY
from process import Process
from process import stored
from works import FitWork

KEPT_BY = {
    "oneDNN": {"TF_ENABLE_ONEDNN_OPTS": "1"},
    "malloc": {
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": "1000000000",
    },
}
BATCHES = 4, 64, 16  # count, sentences, longest


def main(modes: list, rounds: int):
    """Print a line for each mode and each way."""
    work = FitWork()
    arrays = {**fit_weights(work), **made_up_batches(work.vocabulary, *BATCHES)}
    with stored(arrays) as file:
        for mode in modes:
            for name, variables in KEPT_BY.items():
                given = "fit_ours", work, file, mode
                with (
                    Process(name, *given, **variables) as kept,
                    Process("given back", *given, **RETURN_MEMORY) as back,
                ):
                    found = ratio(CpuClock(kept), CpuClock(back), rounds)
                    peaks = (f"{x.peak() / 1e6:.0f} MB" for x in (kept, back))
                    line = f"fit | {mode} | {name} | {found}"
                    print(f"{line} | {' against '.join(peaks)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--mode",
        nargs="+",
        choices=("default", "xla"),
        default=["default"],
        dest="modes",
    )
    parser.add_argument("--rounds", type=int, default=7)
    main(**vars(parser.parse_args()))
