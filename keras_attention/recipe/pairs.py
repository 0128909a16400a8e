"""Read training pairs, and warn about likely mistakes in the files."""

import re
import warnings
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from keras_attention.data.pairs import pair_texts
from keras_attention.data.pairs import stream_parallel
from keras_attention.data.pairs import take_columns
from keras_attention.text.files import stream_lines

HEADERS = frozenset(
    "source target src tgt trg word words lemma form inflected grapheme "
    "graphemes phoneme phonemes pronunciation ipa input output features tags "
    "text translation original normalized".split()
)

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
QUOTE = '"'


class TrainingPairs(NamedTuple):
    """Pairs of texts with their line numbers.

    Attributes:
        name: The names of the files.
        columns: Lists of strings: sources, targets, and features, if any.
        lines: The line number of each pair, from 1.
    """

    name: str
    columns: tuple[list[str], ...]
    lines: list[int]

    def select(self, indices: Sequence[int]) -> "TrainingPairs":
        """Return some of the pairs.

        Args:
            indices: Their indices.
        """
        columns = ([x[i] for i in indices] for x in self.columns)
        return TrainingPairs(
            self.name, tuple(columns), [self.lines[i] for i in indices]
        )


def read_training_pairs(
    files: Sequence[str | Path],
    columns: Sequence[int] = (0, 1),
    header: bool = False,
) -> TrainingPairs:
    """Read pairs, and drop unusable ones.

    Whitespace around a cell is removed. Blank lines are skipped, and so are
    pairs without a source or a target, with a warning. Other warnings are
    about sources with several targets, repeated pairs, a first line that
    looks like a header, control characters, and quotation marks around all
    sources or targets.

    Args:
        files: One tab-separated file, or a source file and a target file.
        columns: Zero-based indices of the source and target columns of a
            tab-separated file, and of others. Defaults to `(0, 1)`.
        header: Whether the first line is a header. Defaults to `False`.

    Returns:
        The pairs.

    Raises:
        ValueError: If a line has too few columns, if the files have different
            numbers of lines, if a line contains a carriage return, or if no
            pair is left. The message names the file and the line.
    """
    name = " and ".join(map(str, files))
    rows = _table(files[0], columns) if len(files) == 1 else _parallel(*files)
    found, blank, lines = [], [], []
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row or ()]
        if not any(cells) or (header and number == 1):
            continue
        if any("\r" in cell for cell in cells):
            raise ValueError(
                "Lines must end with a line feed. Received: "
                f"{name}:{number}, which contains a carriage return. Convert "
                "the line endings of the file, for example with mac2unix."
            )
        if not all(cells[:2]):
            blank.append(number)
            continue
        if not found and HEADERS.issuperset(x.lower() for x in cells):
            warnings.warn(
                f"{name}:{number} looks like a header: {' '.join(cells)!r}. It "
                "is read as a pair; skip it with `header=True` (`--header`).",
                stacklevel=2,
            )
        found.append(cells)
        lines.append(number)
    if not found:
        raise ValueError(
            "Training needs pairs of a source and a target. Received: "
            f"{name}, which has none. Check the zero-based `columns`."
        )
    if blank:
        warnings.warn(
            f"{name}: pairs with an empty source or target are dropped. "
            f"Number of such pairs: {len(blank)}. The first is line "
            f"{blank[0]}.",
            stacklevel=2,
        )
    pairs = TrainingPairs(
        name, tuple(map(list, zip(*found, strict=True))), lines
    )
    _warn_of_duplicates(pairs)
    _warn_of_signs(pairs)
    return pairs


def warn_of_overlap(train: TrainingPairs, validation: TrainingPairs):
    """Warn about sources in both the training set and the validation set.

    Args:
        train: The training set.
        validation: The validation set.
    """
    known = {source for source, *_ in _keyed(train)}
    both = [x for x, *_ in _keyed(validation) if x in known]
    if both:
        warnings.warn(
            f"{len(both)} of {len(validation.lines)} sources of "
            f"{validation.name} are also in the training set, such as "
            f"{_shown(both[0])}. Scores on new texts will be lower.",
            stacklevel=2,
        )


def _table(file, columns):
    """Yield the cells of each line, or nothing for a blank line."""
    for number, line in enumerate(stream_lines(file), 1):
        if line.strip():
            yield take_columns(file, number, line, columns, "A training")
        else:
            yield None


def _parallel(sources, targets):
    return stream_parallel(pair_texts(Path(sources), Path(targets)))


def _keyed(pairs):
    """Yield source with features, target, and line number of each pair."""
    source, target, *features = pairs.columns
    for *key, text, line in zip(
        source, *features, target, pairs.lines, strict=True
    ):
        yield tuple(key), text, line


def _shown(key):
    return repr(" ".join(key))


def _warn_of_signs(pairs):
    rows = zip(zip(*pairs.columns, strict=True), pairs.lines, strict=True)
    odd = [line for cells, line in rows if any(map(CONTROL.search, cells))]
    if odd:
        warnings.warn(
            f"{pairs.name}: texts contain control characters, which are "
            f"treated as characters. Number of such pairs: {len(odd)}. The "
            f"first is line {odd[0]}.",
            stacklevel=3,
        )
    for side, texts in zip(("source", "target"), pairs.columns, strict=False):
        if all(len(x) > 1 and x[0] == x[-1] == QUOTE for x in texts):
            warnings.warn(
                f"{pairs.name}: every {side} is in quotation marks, which are "
                "treated as characters. Remove them if they come from a CSV "
                "file.",
                stacklevel=3,
            )


def _warn_of_duplicates(pairs):
    targets, repeated = defaultdict(dict), []
    for source, target, line in _keyed(pairs):
        if target in targets[source]:
            repeated.append(line)
        targets[source].setdefault(target, line)
    several = {x: y for x, y in targets.items() if len(y) > 1}
    if several:
        source, lines = next(iter(several.items()))
        first, second, *_ = lines.values()
        warnings.warn(
            f"{pairs.name}: sources with several targets are kept. "
            f"Number of such sources: {len(several)}. The first is "
            f"{_shown(source)} in lines {first} and {second}.",
            stacklevel=3,
        )
    if repeated:
        warnings.warn(
            f"{pairs.name}: pairs occur more than once. Number of repeated "
            f"pairs: {len(repeated)}. The first is line {repeated[0]}.",
            stacklevel=3,
        )
