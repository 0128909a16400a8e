"""Parallel text as flat arrays of ids, in memory or in cache files."""

import contextlib
import io
import mmap
import unicodedata
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import BinaryIO
from typing import NamedTuple

import numpy as np

from keras_attention.checks import check_ids
from keras_attention.data.cache import NAME
from keras_attention.data.cache import Cache
from keras_attention.data.cache import digest_of
from keras_attention.data.encode import SIDES
from keras_attention.data.encode import EncodedPart
from keras_attention.data.encode import PairEncoder
from keras_attention.data.pairs import Pairs
from keras_attention.data.pairs import stream_parallel
from keras_attention.version import __version__

AT_ONCE = 2**18  # pairs whose lengths are in memory
FORM = 3  # of the files; another one is another key
VALUES, OFFSETS = "values", "offsets"  # the files of a column
DROPPED = "dropped"  # a file of how many pairs are not there, by reason
REASONS = "too_long", "empty"
OFFSET = np.dtype("<i8")


class Rows:
    """Rows of different lengths in one array.

    A row is a view, so a list of rows needs no memory for their content. The
    array can be a memory-mapped file.

    Args:
        values: `(S,)`: all rows, concatenated.
        offsets: `(N + 1,)`: 0, and the end of each row.
    """

    def __init__(self, values: np.ndarray, offsets: np.ndarray):
        self.values = values
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def lengths(self, rows: slice) -> np.ndarray:
        """Return the lengths of some rows, `(n,)` int64.

        Args:
            rows: The indices of the rows.
        """
        return self.offsets[1:][rows] - self.offsets[:-1][rows]


class Corpus(NamedTuple):
    """The pairs of a parallel text, as ids.

    Attributes:
        sides: The ids of source and target, `Rows`.
        texts: The lines of both as UTF-8, `Rows`; empty if they were not
            requested.
        dropped: The number of dropped pairs, by reason.
        mapped: The memory-mapped files.
    """

    sides: list[Rows]
    texts: list[Rows]
    dropped: dict[str, int]
    mapped: list[mmap.mmap]

    def lengths(self) -> Iterator[np.ndarray]:
        """Yield the lengths of both sides, `(2, n)` for some pairs at a time.

        The lengths of all pairs would need most of the memory of a large
        corpus.
        """
        for start in range(0, len(self.sides[0]), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            yield np.array([side.lengths(some) for side in self.sides])
            self.release()

    def release(self):
        """Release the memory of mapped files that have been read.

        The operating system still caches them, and maps them again when they
        are needed. Therefore, the process does not grow with the data it has
        read.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            for content in self.mapped:
                content.madvise(mmap.MADV_DONTNEED)


def read_corpus(
    pairs: Pairs,
    encoder: PairEncoder,
    cache: Cache | None,
) -> Corpus:
    """Read parallel text as ids.

    Args:
        pairs: Each source with its target: paths, or lists of sentences.
        encoder: Converts pairs of lines to ids.
        cache: Stores the arrays in files; `None` keeps them in memory.

    Returns:
        The pairs that are neither too long nor empty.

    Raises:
        ValueError: If a file is invalid, or changes while it is read.
        OSError: If the cache cannot be written.
    """
    dtypes = encoder.dtypes()
    names = [f"{x}.{file}" for x in dtypes for file in (VALUES, OFFSETS)]
    names.append(DROPPED)
    parts = encoder.encode(stream_parallel(pairs))
    if cache is None:
        streams = {name: io.BytesIO() for name in names}
        _write(parts, dtypes, streams)
        return _open({x: y.getbuffer() for x, y in streams.items()}, dtypes)
    texts = [text for both in pairs for text in both]
    digests = cache.digests(texts)
    # A name that differs if anything that decides the ids does.
    versions = FORM, __version__, unicodedata.unidata_version
    key = digest_of([versions, digests, encoder.settings()])[:NAME]
    with cache.folder(key, names) as draft:
        if draft:
            with contextlib.ExitStack() as stack:
                streams = {
                    name: stack.enter_context(open(draft / name, "wb"))
                    for name in names
                }
                _write(parts, dtypes, streams)
            if cache.digests(texts) != digests:
                raise ValueError(
                    "Text must not change while parallel_dataset reads it. "
                    "Received: files that have changed. Call it again."
                )
    folder = cache.path / key
    return _open({name: _map_file(folder / name) for name in names}, dtypes)


def _write(
    parts: Iterable[EncodedPart],
    dtypes: dict[str, np.dtype],
    streams: dict[str, BinaryIO],
):
    """Write rows sequentially, and count dropped pairs."""
    ends = dict.fromkeys(dtypes, 0)
    for name in dtypes:
        streams[f"{name}.{OFFSETS}"].write(np.zeros(1, OFFSET))
    dropped = np.zeros(len(REASONS), OFFSET)
    for part in parts:
        columns = zip(dtypes.items(), part.columns, strict=True)
        for (name, dtype), (values, lengths) in columns:
            check_ids(
                *("parallel_dataset needs tokenizers that give", values),
                *(np.iinfo(dtype).max + 1, "", "Correct the tokenizer."),
            )
            offsets = ends[name] + np.cumsum(lengths, dtype=OFFSET)
            ends[name] += int(lengths.sum())
            streams[f"{name}.{VALUES}"].write(
                np.ascontiguousarray(values, dtype)
            )
            streams[f"{name}.{OFFSETS}"].write(offsets)
        dropped += part.dropped
    streams[DROPPED].write(dropped)


def _open(contents: dict[str, Any], dtypes: dict[str, np.dtype]) -> Corpus:
    """Create arrays from the contents of files."""
    columns = [
        Rows(
            np.frombuffer(contents[f"{name}.{VALUES}"], dtype),
            np.frombuffer(contents[f"{name}.{OFFSETS}"], OFFSET),
        )
        for name, dtype in dtypes.items()
    ]
    dropped = np.frombuffer(contents[DROPPED], OFFSET).tolist()
    return Corpus(
        columns[: len(SIDES)],
        columns[len(SIDES) :],
        dict(zip(REASONS, dropped, strict=True)),
        [x for x in contents.values() if isinstance(x, mmap.mmap)],
    )


def _map_file(file: Path) -> mmap.mmap | bytes:
    """Memory-map a file."""
    with file.open("rb") as content:
        if not file.stat().st_size:  # cannot be mapped
            return b""
        return mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ)
