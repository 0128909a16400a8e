"""The requests of a measurement of serving, and the answers to compare.

It needs only NumPy, since it also runs in the environment of TFA.
"""

import itertools
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from works import END

COMPARED = 8  # sentences whose translations are compared


class Requests:
    """Sources in batches of any size, one after the other, again and again.

    Args:
        sources: Ids `(N, T)`, framed and padded.
    """

    def __init__(self, sources: np.ndarray):
        self.sources = sources
        self.at = itertools.count()

    def ids(self, size: int) -> np.ndarray:
        """Return the next batch as ids, as long as its longest row."""
        rows = size * next(self.at) + np.arange(size)
        ids = self.sources[rows % len(self.sources)]
        return ids[:, : (ids != 0).sum(axis=1).max()]

    def texts(self, size: int) -> list[str]:
        """Return the next batch as texts."""
        return [
            " ".join(f"w{i}" for i in row if i > END) for row in self.ids(size)
        ]


def as_ids(texts: list) -> np.ndarray:
    """Turn texts, which all have as many words, into ids `(B, T)`."""
    texts = [x.decode() if isinstance(x, bytes) else x for x in texts]
    return np.array(
        [[int(i) for i in re.findall(r"w(\d+)", text)] for text in texts]
    )


def resident() -> int:
    """Return the most bytes that this process has had in memory."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def serving(
    load: Callable, sources: np.ndarray, takes_text: bool = False
) -> tuple[Callable, Callable]:
    """Make the functions that `serve` needs.

    Args:
        load: Function without arguments that loads a model, and returns a
            function from a batch to `tokens (B, T)`, or texts, and to `scores
            (B,)` or `None`.
        sources: Ids `(N, T)`, framed and padded.
        takes_text: Whether batches and results are texts.

    Returns:
        `run(size)`, and `numbers`, which also has the seconds that loading
        and the first request took, and the bytes at the peak so far.
    """
    requests = Requests(sources)
    start = time.perf_counter()
    translate = load()
    loaded = time.perf_counter() - start
    batch = requests.texts if takes_text else requests.ids
    start = time.perf_counter()
    translate(batch(1))
    first = time.perf_counter() - start

    def run(size: int):
        translate(batch(size))

    def numbers() -> dict:
        compared = Requests(sources)
        given = compared.texts if takes_text else compared.ids
        tokens, scores = translate(given(COMPARED))
        found = {
            "tokens": as_ids(tokens) if takes_text else tokens,
            "load": loaded,
            "first": first,
            "bytes": resident(),
        }
        return found if scores is None else {**found, "scores": scores}

    return run, numbers


def set_threads(count: int):
    """Set how many threads TensorFlow has, before it begins."""
    for pool in ("INTRAOP", "INTEROP"):
        os.environ[f"TF_NUM_{pool}_THREADS"] = str(count)
