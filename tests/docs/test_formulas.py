"""Formulas of docstrings as HTML: every one of them, and some in full."""

import re

import pytest
import source
from formulas import typeset

FOUND = [
    pytest.param(match[1], id=f"{source.label(path)}:{name}")
    for path in source.FILES
    for name, docstring in source.documented(path)
    for match in re.finditer(r"^Formula:\n((?:    .*\n|\n)+)", docstring, re.M)
]


def plain(text):
    """What is seen of the lines, without their marks."""
    lines = re.findall(r'<span class="line">(.*?)</span>', typeset(text))
    return [re.sub(r"<[^>]+>", "", line) for line in lines]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("q Wq", "<i>q</i> <i>W</i><sub><i>q</i></sub>"),
        ("beta_m", "<i>β</i><sub><i>m</i></sub>"),
        ("2^{j + 1}", "2<sup><i>j</i> + 1</sup>"),
        ("sum_{k <= j} a", "∑<sub><i>k</i> ≤ <i>j</i></sub> <i>a</i>"),
        ("h_i[t, 1]", "<i>h</i><sub><i>i</i>,<i>t</i>, 1</sub>"),
        ("p(y)^(1 / t)", "<i>p</i>(<i>y</i>)<sup>1 / <i>t</i></sup>"),
        ('"sqrt": x', "<code>sqrt</code>: <i>x</i>"),
        ("a mean of a", "a mean of <i>a</i>"),
        ("y_true < 1", "<i>y</i><sub>true</sub> &lt; 1"),
        ("sampling_probability", "<code>sampling_probability</code>"),
        ("xz[j]", "<i>x</i><sub><i>z</i>,<i>j</i></sub>"),
    ],
)
def test_a_formula_reads_as_mathematics(text, wanted):
    assert f'<span class="line">{wanted}</span>' in typeset(text)


def test_lines_stay_lines_and_screen_readers_get_the_text():
    found = typeset('score = "x"\n    k < 3\n')
    assert found.count('class="line"') == 2
    assert "&emsp;&emsp;<i>k</i>" in found
    assert 'aria-label="score = &quot;x&quot; k &lt; 3"' in found


@pytest.mark.parametrize("text", FOUND)
def test_no_formula_of_the_package_loses_a_word(text):
    words = re.findall(r"[a-z]{4,}", re.sub(r"_\{[^}]*\}", "", text))
    greek = {"alpha", "beta", "epsilon", "kappa", "sigma", "prod", "sqrt"}
    seen = " ".join(plain(text))
    assert [x for x in words if x not in seen and x not in greek] == []
    assert "_{" not in seen
    assert "^" not in seen
