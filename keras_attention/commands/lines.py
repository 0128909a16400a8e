"""Lines in, translated lines out, whatever translates them."""

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
    """What was found for a line: the fields of a `Translation`.

    Attributes:
        texts: Its text; a list of them if there are several.
        scores: The score; a list, likewise, and so are the others.
        source_tokens: The tokens of the line, start and end included.
        target_tokens: Those of the text, without the start, with the end.
        attention: `(T, Tv)`, or `None` if the model does not attend.
        token_scores: `(T,)`.
        unknown: What the tokenizer does not know.
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
    """Translate what the arguments name, and write it in its order.

    Args:
        arguments: Those of the command `translate`.
        tokenizer: That of the source, for its `unknown`, or `None`.
        translate: Function of lines that are not blank, and of a name for all
            lines that are read with them, which warnings begin with. It gives
            an `Entry` for each, or what has its fields.
        several: How many translations each line gets.
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
    """Finds what a tokenizer does not know in lines, as training had none.

    Args:
        tokenizer: The tokenizer of the source, or what has its `unknown`;
            `None` to look for nothing.
        action: `"warn"` once, when all lines have been read, raise an
            `"error"` at the first, or `"ignore"` them.
    """

    def __init__(self, tokenizer: Any, action: str):
        self.tokenizer, self.action = tokenizer, action
        self.names, self.lines = {}, []

    def look_at(self, lines: list[bytes], first: int):
        """Look for unknown tokens.

        Args:
            lines: Some lines.
            first: The number of the first one.

        Raises:
            ValueError: If there are any, and they are an error.
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
            raise ValueError(f"{self._message()} Allow it with --unknown warn.")

    def warn(self):
        """Warn if there were any."""
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
    r"""Split a stream of lines into parts of bounded size.

    A terminal is answered line by line.

    Args:
        lines: The lines, which end with `\n` or `\r\n`.
        batch_size: How many lines run at a time.

    Returns:
        Some lines at a time, without their ends.
    """
    most = 1 if getattr(lines, "isatty", bool)() else BATCHES * batch_size
    return split_in_parts(bare_lines(lines), len, most, BYTES)


def _text(line):
    return line.decode("utf-8", errors="replace")


def _blank(line):
    return not _text(line).strip()


def _row(entry, n, arguments):
    """Write the text of a sentence, the `n`-th one if there are several."""

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
    """Write the alignment of one text in Pharaoh's form.

    Args:
        weights: `(T, Tv)`, or `None` if the model does not attend.
        source: The `Tv` tokens of the source, with start and end.
        target: The `T` tokens of the text, without start, with the end.

    Returns:
        Pairs such as `"0-0 1-2"`, in the order of the text.
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
    """Show a count on a terminal, and nothing anywhere else.

    Args:
        unit: What is counted.

    Yields:
        A function that takes all that there are, from the beginning on.
    """
    seen = sys.stderr is not None and sys.stderr.isatty()
    began = time.monotonic()
    shown = count = 0

    def write():
        rate = count / max(time.monotonic() - began, 1e-9)
        text = f"\r{count} {unit}, {rate:.0f} a second "
        print(text, end="", file=sys.stderr, flush=True)

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
