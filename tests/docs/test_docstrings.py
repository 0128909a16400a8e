"""Docstrings as the site shows them."""

import re

import griffe
import pytest
import source
from docstrings import Docstrings
from docstrings import rewrite

DOCSTRINGS = [
    pytest.param(docstring, id=f"{source.label(path)}:{name}")
    for path in source.FILES
    for name, docstring in source.documented(path)
    if re.search(r"^(Formula|Shapes|Reference|Example):", docstring, re.M)
]
TEXT = """Do it.

Formula:

    y = q Wq

More.

Call arguments:
    x: A tensor.

Shapes:
    `(B, T)` ->
    `(B,)`.

Example:

>>> 1 + 1
2

Reference:
    [A paper](https://example.org).
"""


def test_sections_become_what_griffe_reads():
    text = rewrite(TEXT)
    assert '<div class="formula"' in text
    assert "\nOther Args: Called with\n    x: A tensor." in text
    assert "**Shapes**\n\n`(B, T)` ->\n`(B,)`.\n" in text
    assert "```pycon\n>>> 1 + 1\n2\n```\n" in text
    assert "**Reference**\n\n[A paper](https://example.org)." in text


@pytest.mark.parametrize("docstring", DOCSTRINGS)
def test_no_section_of_the_package_is_left(docstring):
    text = rewrite(docstring)
    left = r"^(Formula|Shapes|Reference|Call arguments|Example):?$"
    assert not re.search(left, text, re.M)
    blocks = "".join(re.findall(r"```pycon\n(.*?)```", text, re.S))
    assert text.count(">>> ") == blocks.count(">>> ")


@pytest.mark.slow
def test_a_default_and_a_hook_are_told_once():
    module = griffe.load(
        "keras_attention",
        search_paths=[source.ROOT],
        extensions=griffe.load_extensions(Docstrings),
    )
    attention = module["attention.bahdanau.BahdanauAttention"]
    assert "Whether to use the weight-normalized" in attention.docstring.value
    assert "Defaults to `False`" not in attention.docstring.value
    assert "score" in attention.members
    assert attention["score"].docstring is None
    assert module["attention.base.AbstractAttention.score"].docstring
    assert module["models.seq2seq.Seq2Seq"].docstring
