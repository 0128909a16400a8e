"""Reads pairs of sentences from files whose lines belong together."""

import itertools
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from keras_attention.text.files import stream_lines

Files = str | Path | Sequence[str | Path]
FilePairs = list[tuple[str | Path, str | Path]]


def read_parallel(
    source_files: Files, target_files: Files
) -> tuple[list[str], list[str]]:
    """Read pairs of sentences from files whose lines belong together.

    Args:
        source_files: A file or a list of them.
        target_files: As many files, in the same order: line `n` of each
            translates line `n` of its source file.

    Returns:
        The lines of all source files, and those of all target files.

    Raises:
        ValueError: If the numbers of files or lines differ, or a file is
            broken (see `read_lines`).
    """
    pairs = stream_parallel(pair_files(source_files, target_files))
    sources, targets = map(list, zip(*pairs, strict=True))
    return sources, targets


def pair_files(source_files: Files, target_files: Files) -> FilePairs:
    """List which files belong together, and check that each can be read.

    Args:
        source_files: A file or a list of them.
        target_files: As many files, in the same order.

    Returns:
        Each source file with its target file.

    Raises:
        ValueError: If the numbers of files differ, there is none, or one
            cannot be read.
    """
    sources, targets = (
        [files] if isinstance(files, str | Path) else [*files]
        for files in (source_files, target_files)
    )
    if len(sources) != len(targets) or not sources:
        raise ValueError(
            "Parallel text needs as many source files as target files. "
            f"Received: {len(sources)} source_files and "
            f"{len(targets)} target_files. Name them in pairs."
        )
    for file in (*sources, *targets):
        next(stream_lines(file))  # before hours with the files before it
    return [*zip(sources, targets, strict=True)]


def stream_parallel(files: FilePairs) -> Iterator[tuple[str, str]]:
    """Read pairs of sentences one by one, as `read_parallel` does.

    Args:
        files: Each source file with its target file.

    Yields:
        A line of the source, and the line that translates it.

    Raises:
        ValueError: If two files differ in their number of lines, or one is
            broken, as soon as it is read so far.
    """
    for both in files:
        sides = [*map(stream_lines, both)]
        count = 0
        for pair in itertools.zip_longest(*sides):
            if None in pair:
                _fail_at(count, pair, both, sides)
            count += 1
            yield pair


def _fail_at(count, pair, files, sides):
    """Raise a `ValueError` with the numbers of lines of two files."""
    counts = [
        count + (line is not None) + sum(1 for _ in side)
        for line, side in zip(pair, sides, strict=True)
    ]
    raise ValueError(
        "Parallel files need equally many lines. Received: "
        f"{files[0]} with {counts[0]} and {files[1]} with {counts[1]}. Align "
        "them again."
    )
