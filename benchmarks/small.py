"""CPU time of small models, training and search, on any backend.

    python benchmarks/small.py [--backend torch] [--against torch] [--threads 1]

The decoder's training step of `decoder_step.py`, and the beam search of
`beam_search.py`, at 64, 128 and 256 units, batches of 32 with 8 words and of
100 with 30, and 50 and 500 words to choose from. Peers are those of the two
scripts, and for the search torch's loop as well; their numbers must be equal
to ours first, but those of `bare` and of TFA's training. The figure is the
ratio of CPU seconds of all threads: below 1 is better than the peer.
"""

import argparse
import itertools
from pathlib import Path

import beam_search
import decoder_step
import environment
from draws import decoder_arrays
from draws import search_arrays
from interleave import CpuClock
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import DecoderWork
from works import SearchWork

UNITS = (64, 128, 256)
SHAPES = ((32, 8), (100, 30))  # batch and words
VOCABULARIES = (50, 500)
STEPS = {  # our decoder's step, and the modes that it has
    "tensorflow": ("decoder_ours", ["default", "xla"]),
    "jax": ("decoder_ours_jax", ["default"]),
    "torch": ("decoder_ours_torch", ["eager", "compile"]),
}
PEERS = list(decoder_step.PEERS)
EQUAL = {  # what is compared first
    "decoder": dict.fromkeys(("torch", "jax"), decoder_step.TOLERANCE),
    "search": dict.fromkeys(("torch", "tfa"), beam_search.TOLERANCES),
}


def jobs(name: str, units: list[int]):
    """Yield the works of a name, and their arrays."""
    for size, (batch, words) in itertools.product(units, SHAPES):
        sizes = {"batch": batch, "steps": words, "words": words}
        sizes |= {"units": size, "size": size}
        if name == "decoder":
            work = DecoderWork(**sizes)
            yield work, decoder_arrays(work)
            continue
        for vocabulary in VOCABULARIES:
            work = SearchWork(vocabulary=vocabulary, **sizes)
            yield work, search_arrays(work)


def line(name, work, arrays, backend, mode, peer, threads, folder) -> str:
    """Measure one work against one peer, and return its line."""
    pools = "OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "OPENBLAS_NUM_THREADS"
    options = dict.fromkeys(pools, str(threads))
    module = STEPS[backend][0] if name == "decoder" else "search_ours"
    python = environment.python_of(peer, folder)
    theirs_mode = mode if peer in ("bare", "torch") else "default"
    with (
        Process(
            "ours",
            module,
            work,
            arrays,
            mode,
            KERAS_BACKEND=backend,
            **options,
        ) as ours,
        Process(
            peer, f"{name}_{peer}", work, arrays, theirs_mode, python, **options
        ) as theirs,
    ):
        if peer in EQUAL[name]:
            compare(ours, theirs, EQUAL[name][peer])
        found = ratio(*map(CpuClock, (ours, theirs)), rounds=7)
    sizes = f"{work.units} units, {work.batch} x {work.words}"
    if name == "search":
        sizes += f", {work.vocabulary} words"
    return f"{name} | {backend} | {mode} | {peer} | {sizes} | {found}"


def main(
    work: list,
    backend: str,
    mode: str | None,
    against: list,
    units: list[int],
    threads: int,
    peer_environment: Path,
):
    """Print one line for each work and peer."""
    modes = STEPS[backend][1]
    mode = mode or modes[0]
    if mode not in modes:
        raise SystemExit(f"{backend} has the modes {modes}, and not {mode}.")
    for name in work:
        for sizes, arrays in jobs(name, units):
            for peer in against:
                if (name, peer) == ("search", "jax"):
                    continue
                with stored(arrays) as file:
                    given = name, sizes, file, backend, mode, peer, threads
                    print(line(*given, peer_environment), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    works = list(EQUAL)
    parser.add_argument("--work", nargs="+", choices=works, default=works)
    parser.add_argument("--backend", choices=STEPS, default="tensorflow")
    parser.add_argument("--mode", help="xla, or compile for torch")
    parser.add_argument("--against", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--units", nargs="+", type=int, default=UNITS)
    parser.add_argument("--threads", type=int, default=1)
    environment.add_arguments(parser)
    main(**vars(parser.parse_args()))
