"""Read text files, and report the line of an error."""

import gzip
import itertools
import os
import re
import zlib
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path

from keras_attention.files import bare_lines
from keras_attention.files import open_to_read
from keras_attention.text.sentences import as_text
from keras_attention.text.sentences import strings_of

GZIP_MAGIC = b"\x1f\x8b"
FEW = 10  # among fewer strings than these, paths may be misspelled
# Without a space: "./a", "~/a", "/a/b" or "C:/a", or a slash and a suffix.
ROOT = r"(?:\.{1,2}|~[^\s/\\]*|[/\\][^\s/\\]+|[A-Za-z]:)"
PATH = re.compile(rf"{ROOT}[/\\]\S+|\S*[/\\]\S*\.[A-Za-z]\w+", re.ASCII)


def read_lines(path: str | Path) -> list[str]:
    r"""Read the lines of a text file, plain or gzip.

    Lines end only with `\n` or `\r\n`. Other Unicode line separators are part
    of the text: if they split lines on one side only, all following pairs
    would be misaligned.

    Args:
        path: Path to a UTF-8 file. It is decompressed if its name ends in
            `.gz` or it begins with the gzip signature.

    Returns:
        The lines without line endings.

    Raises:
        ValueError: If the file cannot be read or decompressed, has no lines,
            or has a line that is not UTF-8. The message names the file and
            the line.
    """
    return [*stream_lines(path)]


def stream_lines(path: str | Path) -> Iterator[str]:
    """Read the lines of a text file one at a time, like `read_lines`.

    Args:
        path: Path to a UTF-8 file, plain or gzip.

    Yields:
        The lines without line endings.

    Raises:
        ValueError: As in `read_lines`, when the invalid line is reached.
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
            f"Gzip files must be complete. Received: {path}, which ends "
            f"after line {count}: {error}. Download or compress it again."
        ) from error
    except OSError as error:
        raise ValueError(
            f"Text files must be readable. Received: {path}: "
            f"{error.strerror}. Check the path."
        ) from error
    if not count:
        raise ValueError(
            f"Text files must have at least one line. Received: {path}, which "
            "is empty. Check how it was written, or leave it out."
        )


def read_sentences(
    sentences_or_files: Iterable[str | Path], class_name: str
) -> Iterator[str]:
    """Read training text for a tokenizer, one sentence at a time.

    Args:
        sentences_or_files: Sentences, or `Path` objects of files with one
            sentence per line.
        class_name: The name of the tokenizer class, for error messages.

    Yields:
        The sentences.

    Raises:
        ValueError: If an item is neither a sentence nor a `Path`, if all
            strings look like file names, or if a file is invalid (see
            `read_lines`).
    """
    items = strings_of("sentences_or_files", sentences_or_files, files=True)
    first = list(itertools.islice(items, FEW))
    refuse_paths(first, f"`{class_name}.train`")
    for item in itertools.chain(first, items):
        if isinstance(item, Path):
            yield from read_lines(item)
        else:
            yield as_text(item)


def refuse_paths(items: list, needed_by: str):
    """Raise a `ValueError` if all strings among the first items are paths.

    Args:
        items: Sentences, possibly mixed with other objects.
        needed_by: The function that reads them, as the user typed it.
    """
    first = items[:FEW]
    strings = [item for item in first if isinstance(item, str)]
    named = strings and all(map(os.path.isfile, strings))
    spelled = len(first) < FEW and all(map(PATH.fullmatch, strings))
    if named or (strings and spelled):
        raise ValueError(
            f"{needed_by} reads a list of strings as sentences, not as file "
            f"names. Received: {strings[0]!r}. To read this file, pass "
            f"`pathlib.Path({strings[0]!r})`."
        )


def _raw_lines(path: Path) -> Iterator[bytes]:
    with open_to_read(path) as file:
        magic = file.read(len(GZIP_MAGIC))
        file.seek(0)
        if magic == GZIP_MAGIC or path.suffix == ".gz":
            file = gzip.GzipFile(fileobj=file)
        yield from bare_lines(file)
