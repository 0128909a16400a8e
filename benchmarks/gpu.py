"""Words per second on a GPU, JAX against torch.

A training step of the decoder, `fit`, and beam search, with the sizes of
`decoder_step.py`, `fit.py` and `beam_search.py`, against torch, eager and
compiled: words per second and the ratio of speeds; more is better.
TensorFlow is not needed. `fit` runs on random sentences of one length.

    python benchmarks/gpu.py [--work decoder fit search] [--against eager]

Both sides may use TF32 for their products. Losses, or outputs, gradients and
scores, are compared first. `--quick` uses tiny sizes, to try it on a CPU.
"""

import argparse

import numpy as np
from draws import decoder_arrays
from draws import fit_weights
from draws import search_arrays
from interleave import ratio
from process import Process
from process import compare
from process import stored
from works import DecoderWork
from works import FitWork
from works import SearchWork

OURS = {
    "KERAS_BACKEND": "jax",
    "JAX_DEFAULT_MATMUL_PRECISION": "tensorfloat32",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # torch needs memory as well
}
COUNT = 20
# TF32 keeps ten bits of each factor. Its rounding may swap two hypotheses
# with similar scores, so tokens are not compared.
TOLERANCES = {
    "decoder": 2e-2,
    "fit": {"losses": 1e-2},
    "search": {"scores": 1e-2},
}
QUICK = {"batch": 4, "words": 5, "units": 8, "size": 6}


def made_up_batches(vocabulary: int, count: int, batch: int, length: int):
    """Draw random sentences with start, end and padding.

    Args:
        vocabulary: Number of ids.
        count: Number of batches.
        batch: Number of sentences in a batch.
        length: Largest number of words, with start and end.

    Returns:
        Ids `source_0`, `target_0`, `source_1`, ..., each `(B, T)`.
    """
    draw = np.random.default_rng(3)
    arrays = {}
    for i in range(count):
        for side in ("source", "target"):
            ids = draw.integers(4, vocabulary, (batch, length))
            ends = draw.integers(length // 2, length, (batch, 1))
            places = np.arange(length)
            ids = np.where(places == ends, 3, np.where(places < ends, ids, 0))
            ids[:, 0] = 2
            arrays[f"{side}_{i}"] = ids.astype("int32")
    return arrays


def job(name: str, quick: bool):
    """Return the work, its arrays, and the number of words of one run.

    Args:
        name: `"decoder"`, `"fit"` or `"search"`.
        quick: Whether to use tiny sizes.
    """
    if name == "decoder":
        work = DecoderWork(steps=4, **QUICK) if quick else DecoderWork()
        return work, decoder_arrays(work), work.batch * work.steps
    if name == "search":
        small = {"vocabulary": 30, "steps": 4, **QUICK}
        work = SearchWork(**small) if quick else SearchWork()
        return work, search_arrays(work), work.batch * work.steps
    work = FitWork(30, 6, 4) if quick else FitWork()
    sizes = (5, 4, 6) if quick else (COUNT, 64, 24)
    batches = made_up_batches(work.vocabulary, *sizes)
    words = sum(
        int((ids[:, 1:] != 0).sum())
        for side, ids in batches.items()
        if side.startswith("target")
    )
    return work, {**fit_weights(work), **batches}, words


MODULES = {
    "decoder": "decoder_ours_jax",
    "fit": "fit_ours_jax",
    "search": "search_ours",
}


def main(work: list, against: list, quick: bool = False):
    """Print one line for each work and peer."""
    for name in work:
        sizes, arrays, words = job(name, quick)
        with (
            stored(arrays) as file,
            Process("ours", MODULES[name], sizes, file, **OURS) as ours,
        ):
            for mode in against:
                with Process(
                    f"torch, {mode}", f"{name}_torch", sizes, file, mode
                ) as theirs:
                    compare(ours, theirs, TOLERANCES[name])
                    found = ratio(ours, theirs, 3 if quick else 15)
                speeds = found.speeds(words)
                print(f"{name} | {theirs.name} | {speeds}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--work", nargs="+", choices=MODULES, default=list(MODULES)
    )
    modes = ("eager", "compile")
    parser.add_argument("--against", nargs="+", choices=modes, default=modes)
    parser.add_argument("--quick", action="store_true")
    main(**vars(parser.parse_args()))
