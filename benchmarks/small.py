"""CPU time of small models, training and search, on any backend.

    python benchmarks/small.py [--backend torch] [--against torch] [--threads 1]

The training steps of `decoder_step.py` and `encoder.py`, and the beam search
of `beam_search.py`, at 64, 128 and 256 units, batches of 32 with 8 words and
of 100 with 30, and 50 and 500 words to choose from. Peers are those of the
scripts, and for the search torch's loop as well; their numbers must be equal
to ours first, but those of `bare` and of TFA's training. The figure is the
ratio of CPU seconds of all threads: below 1 is better than the peer.
"""

import argparse
import itertools
from pathlib import Path

import beam_search
import decoder_step
import encoder
import environment
from draws import decoder_arrays
from draws import encoder_arrays
from draws import search_arrays
from interleave import CpuClock
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import DecoderWork
from works import EncoderWork
from works import SearchWork

UNITS = (64, 128, 256)
SHAPES = ((32, 8), (100, 30))  # batch and words
VOCABULARIES = (50, 500)
MODES = {
    "tensorflow": ["default", "xla"],
    "jax": ["default"],
    "torch": ["eager", "compile"],
}
OURS = {  # the module of a work on a backend
    "decoder": {
        "tensorflow": "decoder_ours",
        "jax": "decoder_ours_jax",
        "torch": "decoder_ours_torch",
    },
    "encoder": {"tensorflow": "encoder_layer", "torch": "encoder_ours_torch"},
    "search": dict.fromkeys(MODES, "search_ours"),
}
PEERS = {
    "decoder": list(decoder_step.PEERS),
    "encoder": ["bare", "torch"],
    "search": ["bare", "tfa", "torch"],
}
EQUAL = {  # what is compared first
    "decoder": dict.fromkeys(("torch", "jax"), decoder_step.TOLERANCE),
    "encoder": {"torch": encoder.TOLERANCE},
    "search": dict.fromkeys(("torch", "tfa"), beam_search.TOLERANCES),
}


def jobs(name: str, units: list[int]):
    """Yield the works of a name, and their arrays."""
    for size, (batch, words) in itertools.product(units, SHAPES):
        sizes = {"batch": batch, "words": words, "units": size, "size": size}
        if name == "encoder":
            work = EncoderWork(**sizes)
            yield work, encoder_arrays(work)
        elif name == "decoder":
            work = DecoderWork(steps=words, **sizes)
            yield work, decoder_arrays(work)
        else:
            for vocabulary in VOCABULARIES:
                work = SearchWork(steps=words, vocabulary=vocabulary, **sizes)
                yield work, search_arrays(work)


def line(name, work, arrays, backend, mode, peer, threads, folder) -> str:
    """Measure one work against one peer, and return its line."""
    pools = "OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "OPENBLAS_NUM_THREADS"
    options = dict.fromkeys(pools, str(threads))
    module = OURS[name][backend]
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
    modes = MODES[backend]
    mode = mode or modes[0]
    if mode not in modes:
        raise SystemExit(f"{backend} has the modes {modes}, and not {mode}.")
    for name in work:
        if backend not in OURS[name]:
            continue
        peers = [x for x in against if x in PEERS[name]]
        for sizes, arrays in jobs(name, units):
            for peer in peers:
                with stored(arrays) as file:
                    given = name, sizes, file, backend, mode, peer, threads
                    print(line(*given, peer_environment), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    works = list(EQUAL)
    parser.add_argument("--work", nargs="+", choices=works, default=works)
    parser.add_argument("--backend", choices=MODES, default="tensorflow")
    parser.add_argument("--mode", help="xla, or compile for torch")
    every = PEERS["decoder"]
    parser.add_argument("--against", nargs="+", choices=every, default=every)
    parser.add_argument("--units", nargs="+", type=int, default=UNITS)
    parser.add_argument("--threads", type=int, default=1)
    environment.add_arguments(parser)
    main(**vars(parser.parse_args()))
