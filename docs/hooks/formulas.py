"""Formulas of docstrings: plain text becomes HTML that reads as mathematics.

Docstrings have formulas that a terminal can show, such as
`score(q, k) = v . tanh(q Wq + k Wk)`. A site can do better: letters in italics,
indices below, Greek letters. Nothing is moved and nothing is parsed: a formula
stays one line, and what is not known stays unchanged.
"""

import html
import re

TOKEN = re.compile(
    r"""(?P<quoted>"[^"]*"|`[^`]*`)
    |(?P<article>\ba(?=\ [a-z]{4}))
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<name>[A-Za-z]+'?)
     (?P<under>_(?:\{[^}]*\}|\w+))?
     (?P<index>\[[^\]]*\])?
    |(?P<power>\^(?:\([^)]*\)|\{[^}]*\}|\w+))
    |(?P<space>[ ]{2,})
    |(?P<other>.)""",
    re.VERBOSE,
)
GREEK = {
    "alpha": "α",
    "beta": "β",
    "epsilon": "ε",
    "kappa": "κ",
    "sigma": "σ",
}
SIGNS = {"sum": "∑", "prod": "∏", "sqrt": "√"}
OTHERS = {"-": "−", "*": "∗", "~": "∼"}
SPELLED = {" . ": " · ", "<=": "≤", "!=": "≠", "...": "…", " & ": " ∩ "}
SHORT = {"as", "at", "by", "if", "in", "is", "of", "on", "or", "to", "no", "so"}


def typeset(text: str) -> str:
    """Turn a formula into HTML, one element for each line.

    Args:
        text: One or several lines of plain text.

    Returns:
        A `div` of class `formula`, which screen readers read as the text.
    """
    lines = "".join(
        f'<span class="line">{_line(line)}</span>'
        for line in text.splitlines()
        if line.strip()
    )
    said = html.escape(" ".join(text.split()), quote=True)
    return (
        f'<div class="formula" role="math" aria-label="{said}" '
        f"data-search-exclude>{lines}</div>"
    )


def _line(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    for spelled, sign in SPELLED.items():
        line = line.replace(spelled, sign)
    found = "".join(map(_token, TOKEN.finditer(line.strip())))
    return "&emsp;" * (indent // 2) + found


def _token(found: re.Match) -> str:
    kind, text = found.lastgroup, html.escape(found[0])
    if found["name"]:
        return _name(found["name"], found["under"], found["index"])
    if kind == "quoted":
        return f"<code>{html.escape(found[0][1:-1])}</code>"
    if kind == "power":
        return f"<sup>{_line(_inner(found[0][1:]))}</sup>"
    if kind == "space":
        return "&emsp;"
    return OTHERS.get(text, text)


def _inner(text: str) -> str:
    """Return what stands between brackets, or the text itself."""
    return text[1:-1] if text[:1] in "{([" else text


def _name(name: str, under: str | None, index: str | None) -> str:
    base, below = name, []
    if len(name) == 2 and name.isalpha() and name not in SHORT | {"LN"}:
        base, below = name[0], [name[1]]  # Wq, xz
    if under and len(_inner(under[1:])) > 2 and len(base) > 1:
        if base not in SIGNS and not under.startswith("_{"):
            return f"<code>{html.escape(name + under)}</code>" + _bare(index)
    if under:
        inner = _inner(under[1:])
        below.append(inner)
    if index:
        below.append(_inner(index))
    marks = f"<sub>{','.join(map(_line, below))}</sub>" if below else ""
    return _letters(base) + marks


def _bare(index):
    return f"<sub>{_line(_inner(index))}</sub>" if index else ""


def _letters(name: str) -> str:
    prime = "′" if name.endswith("'") else ""
    name = name.removesuffix("'")
    if name in GREEK:
        return f"<i>{GREEK[name]}</i>{prime}"
    if name in SIGNS:
        return SIGNS[name]
    if len(name) == 1:
        return f"<i>{name}</i>{prime}"
    return f"{name}{prime}"
