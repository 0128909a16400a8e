"""Read lines, and write translated lines, with any translator."""

import argparse
import contextlib
import sys
import time
import warnings
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any
from typing import NamedTuple

from keras_attention.commands.arguments import bytes_of
from keras_attention.files import bare_lines
from keras_attention.files import replaced_file
from keras_attention.files import split_in_parts

BATCHES = 32  # that are read at a time, and sorted by length
BYTES = 2**22  # that are read at a time, as if each line had the longest
SHOWN = 20  # unknown tokens
PAUSE = 0.2  # seconds from one line of progress to the next


class Entry(NamedTuple):
    """The result for a line, with the attributes of a `Translation`.

    Attributes:
        texts: The hypothesis; a list if there are several.
        scores: The score; a list if there are several hypotheses. The same
            holds for the following attributes except `source_tokens` and
            `unknown`.
        source_tokens: The source tokens, including start and end.
        target_tokens: The target tokens, without start and with end.
        attention: `(T, Tv)`, or `None` if the model has no attention.
        token_scores: `(T,)`.
        unknown: The unknown tokens of the source.
    """

    texts: Any
    scores: Any = None
    source_tokens: Any = None
    target_tokens: Any = None
    attention: Any = None
    token_scores: Any = None
    unknown: Any = None


NOTHING = Entry("", 0.0, [], [], None, [])  # of a blank line


def run_lines(
    arguments: argparse.Namespace,
    tokenizer: Any,
    translate: Callable[[list[bytes], int], Iterable],
    several: int,
):
    """Translate the input of the command, and write it in input order.

    Args:
        arguments: The arguments of the command `translate`.
        tokenizer: The source tokenizer, for its `unknown`, or `None`.
        translate: Function of non-blank lines and a name for this group of
            lines, which warnings begin with. It returns an `Entry`, or an
            object with its attributes, for each line.
        several: Number of hypotheses per line.
    """
    with contextlib.ExitStack() as stack:
        if arguments.file is None:
            source = bytes_of("stdin", "FILE")
        else:
            source = stack.enter_context(open(arguments.file, "rb"))
        if arguments.output is None:
            target = bytes_of("stdout", "--output FILE")
        else:
            draft = stack.enter_context(replaced_file(arguments.output))
            target = stack.enter_context(open(draft, "wb"))
        show = stack.enter_context(progress("sentences"))
        unknown = UnknownTokens(tokenizer, arguments.unknown)
        count = 0
        for lines in parts(source, arguments.batch_size):
            unknown.look_at(lines, count + 1)
            name = f"Lines {count + 1} to {count + len(lines)}"
            found = iter(translate([x for x in lines if not _blank(x)], name))
            rows = []
            for line in lines:
                if _blank(line):
                    rows += several * [_row(NOTHING, None, arguments)]
                    continue
                entry = next(found)
                for n in range(several) if several > 1 else [None]:
                    rows.append(_row(entry, n, arguments))
            text = "".join(f"{row}\n" for row in rows)
            target.write(text.encode("utf-8", errors="replace"))
            target.flush()
            count += len(lines)
            show(count)
    unknown.warn()


class UnknownTokens:
    """Reports tokens that are not in the vocabulary.

    Args:
        tokenizer: The source tokenizer, or an object with its `unknown`;
            `None` disables the check.
        action: `"warn"` once after all lines, raise an `"error"` at the first
            unknown token, or `"ignore"` them.
    """

    def __init__(self, tokenizer: Any, action: str):
        self.tokenizer, self.action = tokenizer, action
        self.names, self.lines = {}, []

    def look_at(self, lines: list[bytes], first: int):
        """Look for unknown tokens.

        Args:
            lines: Some lines.
            first: The line number of the first line.

        Raises:
            ValueError: If there are unknown tokens, and the action is
                `"error"`.
        """
        if self.tokenizer is None or self.action == "ignore":
            return
        found = self.tokenizer.unknown(
            ["" if _blank(line) else _text(line) for line in lines]
        )
        for number, names in enumerate(found, first):
            if names:
                self.names |= dict.fromkeys(names)
                self.lines.append(number)
        if self.lines and self.action == "error":
            raise ValueError(f"{self._message()} To allow it: --unknown warn.")

    def warn(self):
        """Warn if there were unknown tokens."""
        if self.lines:
            warnings.warn(
                f"{self._message()} Their translations may be wrong.",
                stacklevel=2,
            )

    def _message(self):
        shown = ", ".join(map(repr, [*self.names][:SHOWN]))
        more = ", ..." * (len(self.names) > SHOWN)
        return (
            f"The model does not know {shown}{more}. Number of lines with such "
            f"tokens: {len(self.lines)}. The first is line {self.lines[0]}."
        )


def parts(lines: Iterable[bytes], batch_size: int) -> Iterator[list[bytes]]:
    r"""Split a stream of lines into groups of limited size.

    A terminal gets each line translated immediately.

    Args:
        lines: The lines, which end with `\n` or `\r\n`.
        batch_size: Number of lines per batch.

    Returns:
        An iterator over groups of lines, without line endings.
    """
    most = 1 if getattr(lines, "isatty", bool)() else BATCHES * batch_size
    return split_in_parts(bare_lines(lines), len, most, BYTES)


def _text(line):
    return line.decode("utf-8", errors="replace")


def _blank(line):
    return not _text(line).strip()


def _row(entry, n, arguments):
    """Return the output line of a sentence, for hypothesis `n` if several."""

    def one(x):
        return x if x is None or n is None else x[n]

    text = one(entry.texts)
    cells = [" ".join(text.split("\t")).replace("\r", " ").replace("\n", " ")]
    if arguments.scores:
        cells.append(f"{one(entry.scores):.6f}")
    if arguments.token_scores:
        cells.append(" ".join(f"{x:.6f}" for x in one(entry.token_scores)))
    if arguments.alignments:
        weights, target = one(entry.attention), one(entry.target_tokens)
        cells.append(pharaoh(weights, entry.source_tokens, target))
    return "\t".join(cells)


def pharaoh(weights, source: list[str], target: list[str]) -> str:
    """Return the alignment of one hypothesis in Pharaoh format.

    Args:
        weights: `(T, Tv)`, or `None` if the model has no attention.
        source: The `Tv` source tokens, including start and end.
        target: The `T` target tokens, without start and with end.

    Returns:
        Pairs such as `"0-0 1-2"`, in the order of the target.
    """
    if weights is None:
        return ""
    ends = 1 if target and target[-1] == "</s>" else 0
    rows = weights[: len(target) - ends, 1 : len(source) - 1]
    if not rows.size:
        return ""
    best = rows.argmax(axis=1)
    return " ".join(f"{i}-{j}" for j, i in enumerate(best) if rows[j, i] > 0)


@contextlib.contextmanager
def progress(unit: str) -> Iterator[Callable[[int], None]]:
    """Show a count if standard error is a terminal.

    Args:
        unit: The unit that is counted.

    Yields:
        A function that takes the current total.
    """
    seen = sys.stderr is not None and sys.stderr.isatty()
    began = time.monotonic()
    shown = count = 0

    def write():
        rate = count / max(time.monotonic() - began, 1e-9)
        text = f"\r{count} {unit}, {rate:.0f} per second "
        print(text, end="", file=sys.stderr)

    def show(number):
        nonlocal shown, count
        count = number
        if seen and time.monotonic() - shown > PAUSE:
            shown = time.monotonic()
            write()

    try:
        yield show
    finally:
        if seen and count:
            write()
            print(file=sys.stderr)
