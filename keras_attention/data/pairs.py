"""Read pairs of sentences from files or from memory."""

import itertools
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from keras_attention.checks import check_integer
from keras_attention.text.files import refuse_paths
from keras_attention.text.files import stream_lines
from keras_attention.text.sentences import as_texts
from keras_attention.text.sentences import strings_of

Texts = str | Path | Sequence[Path] | Sequence[str]
Text = Path | list[str]  # a file, or sentences
Pairs = list[tuple[Text, Text]]


def read_pairs(
    path: str | Path, columns: Sequence[int] = (0, 1)
) -> tuple[list[str], ...]:
    r"""Read columns of a tab-separated file.

    Each line is a row: quotation marks have no special meaning, whitespace is
    kept, and the first line is not a header.

    Args:
        path: Path to a UTF-8 file, plain or gzip.
        columns: Zero-based indices of the columns. Defaults to `(0, 1)`.

    Returns:
        One list for each of `columns`, with one string per line. The first
        two are sources and targets for `parallel_dataset`.

    Raises:
        ValueError: If a line has too few columns, or the file is invalid (see
            `read_lines`). The message names the file and the line.

    Example:

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from keras_attention import read_pairs
    >>> file = Path(mkdtemp()) / "words.tsv"
    >>> _ = file.write_text("cat\tk æ t\nox\tɒ k s\n", encoding="utf-8")
    >>> read_pairs(file)
    (['cat', 'ox'], ['k æ t', 'ɒ k s'])
    """
    if not isinstance(columns, Sequence) or not columns:
        raise ValueError(
            "`columns` must be a list of zero-based column indices. Received: "
            f"columns={columns!r}. Pass for example (0, 1)."
        )
    for x in columns:
        check_integer("columns", x, 0)
    lines = enumerate(stream_lines(path), 1)
    rows = [take_columns(path, *x, columns, "`read_pairs`") for x in lines]
    return tuple(map(list, zip(*rows, strict=True)))


def take_columns(
    path: str | Path,
    number: int,
    line: str,
    columns: Sequence[int],
    needed_by: str,
) -> list[str]:
    """Return columns of a tab-separated line.

    Args:
        path: The file of the line, for error messages.
        number: The line number, from 1.
        line: The line.
        columns: Zero-based indices of the columns.
        needed_by: The function that needs them.

    Returns:
        A string for each of `columns`.

    Raises:
        ValueError: If the line has too few columns.
    """
    row, least = line.split("\t"), 1 + max(columns)
    if len(row) < least:
        raise ValueError(
            f"{needed_by} needs {least} columns, separated by tabs. "
            f"Received: {path}:{number}, whose number of columns is "
            f"{len(row)}: {line!r:.60}. "
            "Correct the line, or choose other `columns`."
        )
    return [row[column] for column in columns]


def read_parallel(sources: Texts, targets: Texts) -> tuple[list[str], ...]:
    """Read pairs of sentences.

    Args:
        sources: As in `parallel_dataset`.
        targets: As in `parallel_dataset`.

    Returns:
        All source sentences, and all target sentences.

    Raises:
        ValueError: If the numbers of texts or lines differ, or a file is
            invalid (see `read_lines`).
    """
    pairs = stream_parallel(pair_texts(sources, targets))
    return tuple(map(list, zip(*pairs, strict=True)))


def pair_texts(sources: Texts, targets: Texts) -> Pairs:
    """Match sources with targets, and check that all can be read.

    Args:
        sources: A file, a list of files, or a list of sentences.
        targets: The same number of files or sentences, in the same order.

    Returns:
        Each source with its target: paths, or lists of sentences.

    Raises:
        ValueError: If the numbers of texts differ or are zero, or if a text
            cannot be read or is neither a path nor a list of sentences.
    """
    sides = _texts("sources", sources), _texts("targets", targets)
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            "Parallel text needs the same number of source and target files. "
            f"Received: {len(sides[0])} in `sources` and {len(sides[1])} in "
            "`targets`. Pass them in pairs."
        )
    for text in itertools.chain(*sides):
        if isinstance(text, Path):  # before hours with the files before it
            next(stream_lines(text))
    return [*zip(*sides, strict=True)]


def _texts(name, given) -> list[Text]:
    """Return the files of a side; sentences are one text."""
    if isinstance(given, str | Path):
        return [Path(given)]
    items = [*strings_of(name, given, files=True)]
    if not items:
        raise ValueError(
            f"`{name}` must contain a file or a string. Received: {name}=[]. "
            "Pass the `pathlib.Path` of a file, or a list of paths or strings."
        )
    if all(isinstance(item, Path) for item in items):
        return items
    texts = as_texts(name, items)
    refuse_paths(texts, "parallel_dataset")
    return [texts]


def stream_parallel(pairs: Pairs) -> Iterator[tuple[str, str]]:
    """Read pairs of sentences one at a time, like `read_parallel`.

    Args:
        pairs: Each source with its target, from `pair_texts`.

    Yields:
        A source sentence and its translation.

    Raises:
        ValueError: If two texts have different numbers of lines, or a file is
            invalid, when that point is reached.
    """
    for both in pairs:
        sides = [
            stream_lines(text) if isinstance(text, Path) else iter(text)
            for text in both
        ]
        count = 0
        for pair in itertools.zip_longest(*sides):
            if None in pair:
                _fail_at(count, pair, both, sides)
            count += 1
            yield pair


def _fail_at(count, pair, both, sides):
    """Raise a `ValueError` with the line counts of two texts."""
    names = [
        text if isinstance(text, Path) else f"a list of {side}"
        for text, side in zip(both, ("sources", "targets"), strict=True)
    ]
    counts = [
        count + (line is not None) + sum(1 for _ in side)
        for line, side in zip(pair, sides, strict=True)
    ]
    raise ValueError(
        "Parallel texts must have the same number of lines. Received: "
        f"{names[0]} with {counts[0]} and {names[1]} with {counts[1]}. Align "
        "them again."
    )
