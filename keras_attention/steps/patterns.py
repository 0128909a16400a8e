"""Convert RE2 regular expressions for Python's `re`."""

import itertools
import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from functools import partial

ESCAPE = r"(?P<escape>\\[pPx]\{[^}]*\}|\\[pP].|\\x..|\\[0-7]{2,3}|\\.)"
CLASS = r"(?P<set>\[\^?\]?(?:\[:\^?\w+:\]|\\[pPx]\{[^}]*\}|\\.|[^]\\])*\])"
FOREIGN = (  # what RE2 does not know, or reads otherwise
    r"(?P<foreign>\(\?(?!:|P<|[is]*(?:-[is]+)?:)"
    r"|[*+?]\+|\{\d+,?\d*\}\+|\{,\d+\})"
)
FLAGS = r"(?P<flags>\A\(\?[ims]+\))"
TOKEN = re.compile(rf"(?s){CLASS}|{ESCAPE}|(?P<end>\$)|{FLAGS}|{FOREIGN}")
# What stands in a class. `re` warns of the last ones.
MEMBER = re.compile(
    rf"(?s)\[:(?P<not>\^?)(?P<posix>\w+):\]|{ESCAPE}|(?P<sign>[\[&|~])"
)
PERL = {"d": "0-9", "s": r"\t\n\f\r ", "w": "0-9A-Za-z_"}
POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-\~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
ASSERTIONS = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)"}
SAME = "afnrtv"  # letters behind a backslash that both know


@lru_cache
def compiled(pattern: str) -> re.Pattern:
    r"""Compile an RE2 pattern for Python.

    Classes such as `\pL` are expanded, and `\d`, `\s`, `\w` and `\b` match
    ASCII only. `$` is the end of the text, unless the pattern begins with
    flags such as `(?m)`.

    Args:
        pattern: The pattern.

    Returns:
        The compiled pattern.

    Raises:
        ValueError: If the pattern uses syntax that RE2 does not support, such
            as look-around, or a script such as `\p{Greek}`.
    """
    of_lines = False

    def translate(match):
        nonlocal of_lines
        kind, found = match.lastgroup, match.group()
        if kind == "flags":
            of_lines = "m" in found
            return found
        if kind == "set":
            return _set(pattern, found)
        if kind == "escape":
            return ASSERTIONS.get(found[1:]) or _escape(pattern, found)
        if kind == "end":
            return found if of_lines else r"\Z"
        return _refuse(pattern, found)

    try:
        return re.compile(TOKEN.sub(translate, pattern))
    except re.error as error:
        raise ValueError(
            f"A step needs RE2 patterns. Received: {pattern!r}, for which "
            f"Python's `re` reports: {error}."
        ) from error


def spelled(pattern: str) -> str:
    r"""Expand classes such as `\pL`, which depend on the Unicode version.

    Args:
        pattern: An RE2 pattern.

    Returns:
        An equivalent RE2 pattern.
    """

    def translate(match):
        if match.lastgroup == "set":
            return MEMBER.sub(partial(spell, True), match.group())
        return spell(False, match)

    def spell(inside, match):
        found = match.group()
        if match["escape"] is None or found[1] not in "pP":
            return found
        return re.sub(
            r"\\U(\w{8})", r"\\x{\1}", _escape(pattern, found, inside)
        )

    return TOKEN.sub(translate, pattern)


def _set(pattern, text):
    """Convert a bracketed character class to the syntax of `re`."""

    def translate(match):
        kind, found = match.lastgroup, match.group()
        if kind == "escape":
            return _escape(pattern, found, inside=True)
        if kind == "sign":
            return "\\" + found
        if match["posix"] not in POSIX:
            return _refuse(pattern, found)
        members = POSIX[match["posix"]]
        return _others(members) if match["not"] else members

    return "[" + MEMBER.sub(translate, text[1:])


def _escape(pattern, text, inside=False):
    """Convert an escape, possibly inside a class, to the syntax of `re`."""
    kind, name = text[1], text[2:].strip("{}")
    if kind == "x":
        return f"\\U{int(name, 16):08x}"
    if kind in "pP":
        negated = (kind == "P") != name.startswith("^")
        members = category(name.removeprefix("^"))
        if not members:
            return _refuse(pattern, text)
        return _class(members, negated, inside)
    if kind.lower() in PERL:
        return _class(PERL[kind.lower()], kind.isupper(), inside)
    known = kind in SAME or name or not kind.isalnum() or kind == "0"
    return text if known else _refuse(pattern, text)


def _refuse(pattern, found):
    raise ValueError(
        "A step needs patterns that RE2 and Python's `re` both support: no "
        "look-around, group references, or Unicode scripts, and flags such as "
        f"(?m) only at the beginning. Received: {pattern!r}, with {found!r}. "
        "Rewrite the pattern."
    )


def _class(members, negated, inside):
    if inside:
        return _others(members) if negated else members
    return f"[^{members}]" if negated else f"[{members}]"


@lru_cache
def _others(members):
    """List the characters outside a class, as the content of a class."""
    match = re.compile(f"[{members}]").match
    return _runs(x for x in range(sys.maxunicode + 1) if not match(chr(x)))


@lru_cache
def category(name: str) -> str:
    """List the characters of a Unicode category, as the content of a class.

    Args:
        name: The name of the category, such as `"L"` or `"Cf"`.
    """
    runs = (codes for kind, codes in _kinds() if kind.startswith(name))
    return _runs(itertools.chain.from_iterable(runs))


@lru_cache
def _kinds():
    """List all categories, each with the ranges of its characters."""
    codes = range(sys.maxunicode + 1)
    kinds = map(unicodedata.category, map(chr, codes))
    found, first = [], 0
    for kind, run in itertools.groupby(kinds):
        last = first + sum(1 for _ in run)
        found.append((kind, range(first, last)))
        first = last
    return found


def _runs(codes):
    parts = []
    for _, run in itertools.groupby(enumerate(codes), lambda x: x[1] - x[0]):
        run = [code for _, code in run]
        parts.append(f"\\U{run[0]:08x}-\\U{run[-1]:08x}")
    return "".join(parts)


def replacer(pattern: str, rewrite: str) -> Callable[[str], str]:
    r"""Return a function that replaces all matches in a text.

    Args:
        pattern: An RE2 pattern.
        rewrite: The replacement, in which `\1` is the first group and `\0`
            the whole match.

    Raises:
        ValueError: If `rewrite` has another backslash, or a group that
            `pattern` does not have.
    """
    found = compiled(pattern)
    new = _replacement(found, pattern, rewrite)
    # Whatever can be empty is so in an empty text, but for `\b`.
    if found.search("") or r"\b" in pattern:
        return lambda text: _replace_all(found, new, text)
    if "\\" not in rewrite:
        new = rewrite  # which is faster
    return lambda text: found.sub(new, text)


def _replace_all(pattern, new, text):
    """Replace matches like RE2: no empty match directly after another match."""
    parts, place, last = [], 0, None
    while place <= len(text):
        match = pattern.search(text, place)
        if match is None:
            break
        parts.append(text[place : match.start()])
        place = match.end()
        if match.start() == place == last:
            parts.append(text[place : place + 1])
            place += 1
        else:
            parts.append(new(match))
            last = place
    return "".join(parts) + text[place:]


def _replacement(found, pattern, rewrite):
    r"""Return a function from a match to its replacement."""
    parts = re.findall(r"(?s)([^\\]+)|\\(\\)|\\(\d?)", rewrite)
    groups = {int(x) for *_, x in parts if x}
    if max(groups, default=0) > found.groups or ("", "", "") in parts:
        raise ValueError(
            r"A replacement can contain `\0` for the match, `\1` for its first "
            rf"group, and so on; `\\` is a backslash. Received: {rewrite!r} "
            f"for {pattern!r}, with {found.groups} groups."
        )
    parts = [(text + slash, int(x or 0), x) for text, slash, x in parts]

    def replace(match):
        return "".join(
            (match[group] or "") if is_group else text
            for text, group, is_group in parts
        )

    return replace
