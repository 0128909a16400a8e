"""Reads text from files, and names the line where one is broken."""

import gzip
import itertools
import os
import re
import zlib
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

GZIP_MAGIC = b"\x1f\x8b"
FEW = 10  # among fewer strings than these, paths may be misspelled
# Without a space: "./a", "~/a", "/a/b" or "C:/a", or a slash and a suffix.
ROOT = r"(?:\.{1,2}|~[^\s/\\]*|[/\\][^\s/\\]+|[A-Za-z]:)"
PATH = re.compile(rf"{ROOT}[/\\]\S+|\S*[/\\]\S*\.[A-Za-z]\w+", re.ASCII)

Files = str | Path | Sequence[str | Path]


def read_lines(path: str | Path) -> list[str]:
    r"""Read the lines of a text file, plain or gzip.

    Only `\n` and `\r\n` end a line. Other separators of Unicode are text: if
    they split lines on one side, all pairs after them would be shifted.

    Args:
        path: A file in UTF-8. It is read as gzip if it is named `.gz` or
            begins with the mark of such files.

    Returns:
        The lines, without their ends.

    Raises:
        ValueError: If the file cannot be read or decompressed, has no line,
            or has a line that is not UTF-8. The message names the file and
            the line.
    """
    return [*stream_lines(path)]


def stream_lines(path: str | Path) -> Iterator[str]:
    """Read the lines of a text file one by one, as `read_lines` does.

    Args:
        path: A file in UTF-8, plain or gzip.

    Yields:
        The lines, without their ends.

    Raises:
        ValueError: If the file is broken (see `read_lines`), as soon as it is
            read so far.
    """
    count = 0
    try:
        for line in _raw_lines(Path(path)):
            text = line.decode("utf-8")
            count += 1
            yield text
    except UnicodeDecodeError as error:
        raise ValueError(
            f"Text files must be UTF-8. Received: {path}:{count + 1}, "
            f"{error.reason} at byte {error.start + 1} of the line. Convert "
            "the file, for example with iconv."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"Gzip files must be whole. Received: {path}, which breaks off "
            f"after line {count}: {error}. Fetch or compress it again."
        ) from error
    except OSError as error:
        raise ValueError(
            f"Text must be in a file that can be read. Received: {path}: "
            f"{error.strerror}. Check the path."
        ) from error
    if not count:
        raise ValueError(
            f"Text files must have at least one line. Received: {path}, which "
            "is empty. Check how it was written, or leave it out."
        )


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


def pair_files(
    source_files: Files, target_files: Files
) -> list[tuple[str | Path, str | Path]]:
    """List which files belong together.

    Args:
        source_files: A file or a list of them.
        target_files: As many files, in the same order.

    Returns:
        Each source file with its target file.

    Raises:
        ValueError: If the numbers of files differ, or there is none.
    """
    source_files, target_files = _listed(source_files), _listed(target_files)
    if len(source_files) != len(target_files) or not source_files:
        raise ValueError(
            "Parallel text needs as many source files as target files. "
            f"Received: {len(source_files)} source_files and "
            f"{len(target_files)} target_files. Name them in pairs."
        )
    return [*zip(source_files, target_files, strict=True)]


def stream_parallel(
    files: list[tuple[str | Path, str | Path]],
) -> Iterator[tuple[str, str]]:
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


def read_sentences(
    sentences_or_files: Iterable[str | Path], class_name: str
) -> Iterator[str]:
    """Read the text for training a tokenizer, one sentence at a time.

    Args:
        sentences_or_files: Sentences, or the `Path`s of files with one
            sentence a line.
        class_name: The tokenizer that is trained.

    Yields:
        The sentences.

    Raises:
        ValueError: If an item is neither a sentence nor a `Path`, if all
            strings look like names of files, or if a file is broken (see
            `read_lines`).
    """
    one = isinstance(sentences_or_files, str | Path)
    if one or not isinstance(sentences_or_files, Iterable):
        raise ValueError(
            f"`{class_name}.train` needs several sentences or files. "
            f"Received: sentences_or_files={sentences_or_files!r}. Put it "
            "into a list; the name of a file must be a `pathlib.Path` in it."
        )
    items = iter(sentences_or_files)
    first = list(itertools.islice(items, FEW))
    _check_no_paths(first, class_name)
    for item in itertools.chain(first, items):
        if isinstance(item, Path):
            yield from read_lines(item)
        elif isinstance(item, str):
            yield item
        else:
            raise ValueError(
                f"`{class_name}.train` needs sentences as `str` or files as "
                f"`pathlib.Path`. Received: {item!r}. Decode or convert it."
            )


def _check_no_paths(first, class_name):
    """Raise a `ValueError` if all strings among the first items are paths."""
    strings = [item for item in first if isinstance(item, str)]
    named = strings and all(map(os.path.isfile, strings))
    spelled = len(first) < FEW and all(map(PATH.fullmatch, strings))
    if named or (strings and spelled):
        raise ValueError(
            f"`{class_name}.train` takes strings as sentences, not as names "
            f"of files. Received: {strings[0]!r}. To read this file, wrap it: "
            f"`pathlib.Path({strings[0]!r})`."
        )


def _raw_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        magic = file.read(len(GZIP_MAGIC))
        file.seek(0)
        if magic == GZIP_MAGIC or path.suffix == ".gz":
            file = gzip.GzipFile(fileobj=file)
        for number, line in enumerate(file):
            if number == 0:
                line = line.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
            yield line.removesuffix(b"\n").removesuffix(b"\r")


def _listed(files: Files) -> list[str | Path]:
    return [files] if isinstance(files, str | os.PathLike) else list(files)
