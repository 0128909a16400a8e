"""Parallel text as ids in flat arrays, in memory or in files of a cache."""

import contextlib
import hashlib
import io
import json
import mmap
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO
from typing import NamedTuple

import numpy as np

from keras_attention.text.cache import NAME
from keras_attention.text.cache import cached_folder
from keras_attention.text.cache import digest_files
from keras_attention.text.cache import map_file
from keras_attention.text.encoding import EncodedPart
from keras_attention.text.encoding import Tokenizers
from keras_attention.text.encoding import encode_pairs
from keras_attention.text.files import Files
from keras_attention.text.files import pair_files
from keras_attention.text.files import stream_parallel
from keras_attention.text.rows import Rows
from keras_attention.text.tensors import tf
from keras_attention.version import __version__

AT_ONCE = 2**18  # pairs whose lengths are in memory
FORM = 1  # of the files; another one is another key
SIDES = "source", "target"
VALUES, OFFSETS = "{}.values", "{}.offsets"
OFFSET, BYTE = "<i8", "u1"
SMALL, LARGE = "<u2", "<i4"


class Corpus(NamedTuple):
    """Pairs of a parallel text, as ids.

    Attributes:
        sides: The ids of source and target, `Rows`.
        texts: The lines of both as UTF-8, `Rows`; `None` if they were not
            asked for.
        dropped: How many pairs are not there, by reason.
        mapped: The files that are mapped into memory.
    """

    sides: list[Rows]
    texts: list[Rows] | None
    dropped: dict[str, int]
    mapped: list[mmap.mmap]

    def lengths(self) -> Iterator[np.ndarray]:
        """Yield the lengths of both sides, `(2, n)` for some pairs at a time.

        Those of all pairs would take most of the memory of a large corpus.
        """
        for start in range(0, len(self.sides[0]), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            yield np.array([side.lengths(some) for side in self.sides])
            self.release()

    def release(self):
        """Release the memory of the files that have been read.

        The operating system still caches them, and maps them again when they
        are needed. So the process does not grow with what it has read.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            for content in self.mapped:
                content.madvise(mmap.MADV_DONTNEED)


def read_corpus(
    source_files: Files,
    target_files: Files,
    tokenizers: Tokenizers,
    max_length: int | None,
    copying: bool,
    keep_texts: bool,
    cache: str | Path | None,
) -> Corpus:
    """Read parallel text as ids.

    Args:
        source_files: A file or a list of them.
        target_files: As many files, in the same order.
        tokenizers: Those of both sides.
        max_length: The maximum length of a side, with start and end, or
            `None`.
        copying: Whether unknown words get the ids of their places in the
            source.
        keep_texts: Whether to keep the lines as well.
        cache: A folder that keeps the arrays, or `None` for memory.

    Returns:
        The pairs that are not too long or empty.

    Raises:
        ValueError: If a file is broken, or changes while it is read.
        OSError: If the cache cannot be written.
    """
    files = pair_files(source_files, target_files)
    dtypes = _dtypes(tokenizers, copying, keep_texts)
    write = partial(
        _write,
        encode_pairs(stream_parallel(files), tokenizers, max_length, copying),
        dtypes,
    )
    if cache is None:
        streams = {name: io.BytesIO() for name in dtypes}
        dropped = write(streams)
        buffers = {name: x.getbuffer() for name, x in streams.items()}
    else:
        cache = Path(cache)
        read = partial(_digests, files, cache)
        options = [max_length, copying, keep_texts]
        before = read()
        key = _key(before, tokenizers, options)
        draft = partial(_write_files, write, dtypes, lambda: before == read())
        folder, dropped = cached_folder(cache, key, draft)
        buffers = {name: map_file(folder / name) for name in dtypes}
    return _open(buffers, dtypes, dropped)


def _dtypes(tokenizers, copying, keep_texts):
    """Return the dtype of each file by its name, in the order of files."""
    size = max(tokenizer.vocabulary_size for tokenizer in tokenizers)
    small = size <= np.iinfo(SMALL).max and not copying
    kinds = {"ids": SMALL if small else LARGE}
    if keep_texts:
        kinds["text"] = BYTE
    return {
        form.format(f"{side}.{kind}"): dtype
        for side in SIDES
        for kind, values in kinds.items()
        for form, dtype in ((VALUES, values), (OFFSETS, OFFSET))
    }


def _digests(files, cache):
    """Return the digest of each file; none if a file cannot be read."""
    try:
        flat = [Path(file) for both in files for file in both]
        return digest_files(flat, cache)
    except OSError:  # reading it raises the error that names it
        return []


def _key(digests, tokenizers, options):
    """Return a name that differs if anything that decides the ids does."""
    versions = FORM, __version__, tf.__version__
    known = [tokenizer.to_json() for tokenizer in tokenizers]
    content = json.dumps([versions, digests, known, options])
    return hashlib.sha256(content.encode()).hexdigest()[:NAME]


def _write_files(
    write: Callable, names: Iterable[str], unchanged: Callable, folder: Path
) -> dict[str, int]:
    """Write all files of a corpus; raise an error if its text changes."""
    with contextlib.ExitStack() as opened:
        streams = {
            name: opened.enter_context(open(folder / name, "wb"))
            for name in names
        }
        dropped = write(streams)
    if not unchanged():
        raise ValueError(
            "Text must stay as it is while parallel_dataset reads it. "
            "Received: files that have changed meanwhile. Call it again."
        )
    return dropped


def _write(
    parts: Iterable[EncodedPart],
    dtypes: dict[str, str],
    streams: dict[str, BinaryIO],
) -> dict[str, int]:
    """Write rows one after another, and count the pairs that are dropped."""
    columns = {}
    for name, dtype in dtypes.items():
        column = name.rpartition(".")[0]
        if column not in columns:
            files = (x.format(column) for x in (VALUES, OFFSETS))
            columns[column] = _Column(*(streams[x] for x in files), dtype)
    dropped = {"too_long": 0, "empty": 0}
    for part in parts:
        for side, ids, lengths in zip(
            SIDES, part.ids, part.lengths, strict=True
        ):
            columns[f"{side}.ids"].append(ids, lengths)
        for side, lines in zip(SIDES, part.texts, strict=True):
            if f"{side}.text" in columns:
                lines = [line.encode() for line in lines]
                text = np.frombuffer(b"".join(lines), BYTE)
                columns[f"{side}.text"].append(text, [*map(len, lines)])
        dropped["too_long"] += part.too_long
        dropped["empty"] += part.empty
    return dropped


class _Column:
    """Appends rows to a file of values and one of offsets."""

    def __init__(self, values, offsets, dtype):
        self.values, self.offsets = values, offsets
        self.dtype, self.limits = dtype, np.iinfo(dtype)
        self.end = 0
        offsets.write(np.zeros(1, OFFSET))

    def append(self, values, lengths):
        least, most = values.min(initial=0), values.max(initial=0)
        if least < self.limits.min or most > self.limits.max:
            raise ValueError(
                "parallel_dataset needs tokenizers whose ids are below their "
                f"`vocabulary_size`. Received: ids from {least} to {most}. "
                "Correct the tokenizer."
            )
        self.values.write(np.ascontiguousarray(values, self.dtype))
        self.offsets.write(self.end + np.cumsum(lengths, dtype=OFFSET))
        self.end += int(np.sum(lengths))


def _open(buffers, dtypes, dropped):
    """Make arrays of the content of files."""
    arrays = {
        name: np.frombuffer(buffers[name], dtype)
        if len(buffers[name])
        else np.zeros(0, dtype)
        for name, dtype in dtypes.items()
    }

    def rows(kind):
        columns = [f"{side}.{kind}" for side in SIDES]
        return [
            Rows(arrays[VALUES.format(x)], arrays[OFFSETS.format(x)])
            for x in columns
        ]

    kept = VALUES.format(f"{SIDES[0]}.text") in arrays
    mapped = [x for x in buffers.values() if isinstance(x, mmap.mmap)]
    return Corpus(rows("ids"), rows("text") if kept else None, dropped, mapped)
