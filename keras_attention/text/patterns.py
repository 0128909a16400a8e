"""Regular expressions of RE2, as Python's `re` reads them."""

import itertools
import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

RE2_SPACES = r" \t\n\f\r"
# What differs from `re`: `\pL`, `\p{Cf}`, `\x{85}`, `\s`, and a final `$`.
DIFFERENT = re.compile(
    r"\\p(?P<one>\w)|\\p\{(?P<name>\w+)\}|\\x\{(?P<code>\w+)\}|(?P<space>\\s)"
    r"|(?P<other>\\.)|(?P<open>\[)|(?P<close>\])|(?P<end>\$)",
    re.DOTALL,
)


@lru_cache
def compiled(pattern: str) -> re.Pattern:
    r"""Compile a pattern of RE2 for Python.

    Classes such as `\pL` are written out. `\s` is white space of ASCII, and
    `$` the end of the text, unless the pattern begins with `(?m)`.

    Args:
        pattern: The pattern, without other differences.

    Returns:
        The compiled pattern.
    """
    inside = False
    of_lines = pattern.startswith("(?m)")

    def translate(match):
        nonlocal inside
        kind, found = match.lastgroup, match.group()
        if kind in ("open", "close"):
            inside = kind == "open"
        elif kind == "end":
            return found if inside or of_lines else r"\Z"
        elif kind == "code":
            return f"\\x{int(match['code'], 16):02x}"
        elif kind in ("one", "name", "space"):
            name = match[kind]
            codes = RE2_SPACES if kind == "space" else _category(name)
            return codes if inside else f"[{codes}]"
        return found

    return re.compile(DIFFERENT.sub(translate, pattern))


@lru_cache
def _category(name):
    """List the characters of a category of Unicode, as in a class of `re`."""
    codes = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)).startswith(name)
    ]
    parts = []
    for _, run in itertools.groupby(enumerate(codes), lambda x: x[1] - x[0]):
        run = [code for _, code in run]
        parts.append(f"\\U{run[0]:08x}-\\U{run[-1]:08x}")
    return "".join(parts)


def replacement(rewrite: str) -> str | Callable[[re.Match], str]:
    r"""Return what `re.sub` takes in place of a rewrite of RE2.

    Python would parse the rewrite anew for every text.

    Args:
        rewrite: The text for a match, in which `\1` is its first group.
    """
    text, *rest = re.split(r"\\(\d)", rewrite)
    if not rest:
        return text
    pairs = [*zip(map(int, rest[::2]), rest[1::2], strict=True)]

    def replace(match):
        parts = [text]
        for group, behind in pairs:
            parts += match[group] or "", behind
        return "".join(parts)

    return replace
