"""What a text that is larger than memory costs: `parallel_dataset(cache=...)`.

    python benchmarks/corpus.py [--pairs 10000000] [--words 20] [--batches 5000]

It makes up a text of so many pairs of sentences, of 1 to twice `--words`
words, in `--folder` (10 million pairs of 20 words take 4 GB there, and what is
made stays for the next run), and measures in processes of their own:

- make: tokenize by `SentencePieceTokenizer` with all cores, write the cache;
- first: begin with a cache that another process has made, whose files no
  process has read yet since then;
- again: the same once more, as every later training begins.

A line for each: the most resident memory since the process began, and before
it asked for data; the seconds to the first batch; and the batches of 64 that
one core reads in a second, of an epoch that is shuffled. On a machine that is
busy with other work, look at those of a second of CPU.
"""

import argparse
import itertools
import os
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from keras_attention import parallel_dataset
from keras_attention.text import SentencePieceTokenizer

BATCH = 64
POOL = 2**16  # different sentences of a side
LINES_AT_ONCE = 2**16
WORDS = 20_000
VOCABULARY = 8000
STATUS = Path("/proc/self/status")


def make_text(folder: Path, pairs: int, words: int) -> list[Path]:
    """Write two files of made-up sentences, unless they are there."""
    draw = np.random.default_rng(0)
    letters = np.array([*"abcdefghijklmnopqrstuvwxyz"])
    lexicon = [
        "".join(draw.choice(letters, n)) for n in draw.integers(2, 9, WORDS)
    ]
    files = []
    for side in ("source", "target"):
        file = folder / f"{side}_{pairs}_{words}.txt"
        files.append(file)
        pool = [
            " ".join(lexicon[i] for i in draw.zipf(1.2, n) % WORDS)
            for n in draw.integers(1, 2 * words, POOL)
        ]
        if file.exists():
            continue
        draft = file.with_suffix(".draft")
        with draft.open("w") as content:
            for start in range(0, pairs, LINES_AT_ONCE):
                count = min(LINES_AT_ONCE, pairs - start)
                chosen = draw.integers(0, POOL, count)
                content.write("\n".join(pool[i] for i in chosen) + "\n")
        draft.rename(file)
    return files


def load_tokenizer(folder: Path, files: list[Path]) -> SentencePieceTokenizer:
    """Train a tokenizer for both sides, unless it is there."""
    if not (folder / "tokenizer.json").exists():
        heads = []
        for file in files:
            with file.open() as content:
                heads += itertools.islice(content, 10_000)
        tokenizer = SentencePieceTokenizer.train(heads, VOCABULARY)
        tokenizer.save(folder)
    return SentencePieceTokenizer.load(folder)


def megabytes(name: str) -> float:
    """Read a figure of this process's memory."""
    (line,) = (x for x in STATUS.read_text().splitlines() if name in x)
    return int(line.split()[1]) / 1024


def measure(folder: Path, files: list[Path], batches: int) -> str:
    """Ask for data, read some batches, and return a line of figures."""
    tokenizer = load_tokenizer(folder, files)
    tokenizer.tokenize(["warm up"])
    before = megabytes("VmRSS")
    began = time.perf_counter()
    data = parallel_dataset(
        *files,
        tokenizer,
        tokenizer,
        BATCH,
        training=True,
        seed=1,
        cache=folder / "cache",
    )
    epoch = iter(data)
    next(epoch)
    first = time.perf_counter() - began
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    began = time.perf_counter(), time.process_time()
    read = sum(1 for _ in itertools.islice(epoch, batches))
    rate = read / (time.perf_counter() - began[0])
    of_cpu = read / (time.process_time() - began[1])
    return (
        f"{megabytes('VmHWM'):.0f} MiB resident ({before:.0f} before) | "
        f"{first:.1f} s to the first batch | {rate:.0f} batches a second, "
        f"{of_cpu:.0f} a second of CPU ({read} of {len(data)})"
    )


def alone(function, *arguments):
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main(folder: Path, pairs: int, words: int, batches: int):
    """Print a line for each measurement."""
    folder = folder.expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    files = alone(make_text, folder, pairs, words)
    size = sum(file.stat().st_size for file in files) / 2**20
    print(f"text | {pairs} pairs | {size:.0f} MiB", flush=True)
    for step in ("make", "first", "again"):
        print(f"{step} | {alone(measure, folder, files, batches)}", flush=True)
    arrays = (folder / "cache").rglob("*.*")
    size = sum(file.stat().st_size for file in arrays) / 2**20
    print(f"cache | {size:.0f} MiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--batches", type=int, default=5000)
    parser.add_argument(
        "--folder",
        type=Path,
        default="~/.cache/keras_attention/corpus",
        metavar="DIR",
    )
    main(**vars(parser.parse_args()))
