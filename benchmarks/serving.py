"""Sentences a second and latency of what is exported, beside its peers.

    python benchmarks/serving.py [--threads 1 2] [--beams 1 5] [--quick]

One model (vocabulary 8000, bidirectional LSTM 256, LSTM 512 in Luong's order,
additive attention) in every format that `Translator.export` writes, and as a
`Translator`; against the same model with TensorFlow Addons' decoder, exported
as a SavedModel, and in torch with a beam search of its own. SavedModels, from
text to text, run through the C API of TensorFlow, as TensorFlow Serving runs
them, both on the same release. LiteRT, ONNX and torch work from ids to ids.
Sources have 5 to 25 words, and no target ends before 30. Weights and sources
are the same, and first all must find the same words with the same scores (int8
with its own words).

All processes of a table are alive, and one at a time gets a request, by turns.
Ratios are medians over rounds, of seconds and of CPU seconds of all threads.
The latter mean more on a busy machine. A pool that waits may use some too.
"""

import argparse
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import environment
import numpy as np
from draws import serving_sources
from draws import serving_weights
from process import HERE
from process import Process
from process import compare
from process import stored
from works import ServingWork

PATHS = [HERE, HERE.parent, HERE.parent / "tests" / "support"]
MODULES = {  # what runs it, and which of its modes
    "SavedModel": ("saved_model", "ours"),
    "TFA": ("saved_model", "tfa"),
    "LiteRT": ("litert", "float32"),
    "LiteRT int8": ("litert", "int8"),
    "ONNX": ("onnx", "float32"),
    "ONNX int8": ("onnx", "int8"),
    "Translator": ("translator", "default"),
    "torch": ("torch", "compile"),
}
TOLERANCE = 1e-4  # of scores: sums of 30 logarithms in float32
BATCHES = (1, 8, 64)
LEAST, MOST = 10, 200  # rounds
QUICK = {"vocabulary": 60, "size": 8, "units": 8, "steps": 6, "sentences": 8}
ROW = "{:<11} | {:>5} | {:>7} | {:>5} | {:>7} | {:>7} | {:>10} | {}"
HEADS = (
    *("runtime", "beams", "threads", "batch", "ms", "p99 ms", "sentences/s"),
    "time and CPU time, of SavedModel's; of TFA's",
)
START_ROW = "{:<11} | {:>5} | {:>7} | {:>8} | {:>9} | {:>6}"
START_HEADS = ("runtime", "beams", "load s", "first ms", "memory MB", "file MB")


def start(stack: ExitStack, name: str, work, arrays: Path) -> Process:
    """Start a process that serves one format until the stack is closed."""
    module, mode = MODULES[name]
    paths = os.pathsep.join(map(str, PATHS))
    side = Process(
        *(name, f"serving_{module}", work, arrays, mode),
        PYTHONPATH=paths,
    )
    return stack.enter_context(side)


def write(work, arrays: Path, python: Path | None) -> dict:
    """Write all files; return the size of each."""
    with Process("files", "serving_files", work, arrays) as files:
        sizes = files.numbers()
    if python:
        with Process("TFA", "serving_tfa", work, arrays, python=python):
            pass
    return {name: int(size) for name, size in sizes.items()}


def check(sides: dict) -> dict:
    """Check that all find the same; return what each said of itself."""
    found = {name: side.numbers() for name, side in sides.items()}
    first = next(iter(sides.values()))
    for name, side in sides.items():
        if name.endswith("int8"):  # its words are its own
            shapes = {found[x]["tokens"].shape for x in (name, first.name)}
            assert len(shapes) == 1, shapes
            continue
        compare(first, side, {"tokens": 0})
        if "scores" in found[name]:
            compare(first, side, {"scores": TOLERANCE})
    return found


def measure(sides: dict, batch: int, seconds: float) -> dict:
    """Send requests to all sides by turns.

    Args:
        sides: The processes, by name.
        batch: Number of texts in a request.
        seconds: How long to go on, within limits of rounds.

    Returns:
        By name an array `(rounds, 2)`: seconds and CPU seconds.
    """
    times = {name: [] for name in sides}
    for side in (*sides.values(), *sides.values()):
        side.timed(batch)
    end = time.perf_counter() + seconds
    for done in range(MOST):
        if done >= LEAST and time.perf_counter() > end:
            break
        for name, side in sides.items():
            times[name].append(side.timed(batch))
    return {name: np.array(found) for name, found in times.items()}


def report(times: dict, work, batch: int):
    """Print a row for each side."""
    for name, found in times.items():
        wall = found[:, 0]
        ratios = [
            " ".join(f"{x:.2f}" for x in np.median(found / times[peer], 0))
            for peer in ("SavedModel", "TFA")
            if peer in times
        ]
        middle = statistics.median(wall)
        given = name, work.beams, work.threads, batch, f"{1e3 * middle:.1f}"
        high = f"{1e3 * np.percentile(wall, 99):.1f}"
        speed = f"{batch / middle:.0f}"
        row = ROW.format(*given, high, speed, "; ".join(ratios))
        print(row, flush=True)


def report_start(said: dict, sizes: dict, work):
    """Print how long each side took to start, and the memory that it had."""
    print(START_ROW.format(*START_HEADS))
    for name, found in said.items():
        module, mode = MODULES[name]
        suffix = {"litert": "tflite", "onnx": "onnx"}.get(module)
        size = sizes.get(f"{mode}.{suffix}")
        print(
            START_ROW.format(
                *(name, work.beams, f"{found['load']:.2f}"),
                f"{1e3 * found['first']:.0f}",
                f"{found['bytes'] / 1e6:.0f}",
                "" if size is None else f"{size / 1e6:.1f}",
            ),
            flush=True,
        )


def main(
    names: list,
    beams: list,
    threads: list,
    batches: list,
    seconds: float,
    quick: bool,
    peer_environment: Path,
):
    """Print a table of times for each search and number of threads."""
    python = None
    if "TFA" in names:
        python = environment.peer_python(peer_environment)
    for count in beams:
        with tempfile.TemporaryDirectory() as folder:
            work = ServingWork(beams=count, folder=folder)
            work = work._replace(**QUICK if quick else {})
            compare_all(work, names, threads, batches, seconds, python)


def compare_all(work, names, threads, batches, seconds, python):
    """Write all files of one search, and measure them."""
    sources = {"sources": serving_sources(work)}
    arrays = {**serving_weights(work), **sources}
    with stored(arrays) as every, stored(sources) as small:
        sizes = write(work, every, python)
        for count in threads:
            used = work._replace(threads=count)
            with ExitStack() as stack:
                sides = {
                    name: start(
                        stack, name, used, every if name == "torch" else small
                    )
                    for name in names
                }
                report_start(check(sides), sizes, used)
                print(ROW.format(*HEADS))
                for batch in batches:
                    report(measure(sides, batch, seconds), used, batch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--names", nargs="+", choices=MODULES, default=list(MODULES)
    )
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batches", nargs="+", type=int, default=BATCHES)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--quick", action="store_true", help="tiny, to try it")
    environment.add_arguments(parser)
    main(**vars(parser.parse_args()))
