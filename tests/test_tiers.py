"""tiers: the longest name that fits a test decides in which tier it is."""

import re

import pytest
import tiers
from source import ROOT

LINES = """
# A comment, and an empty line.
search      core  all         named  all    named  quick
docs        core  repository  never  never  never  named
test_a.py   text  all         named  all    all    all
jax     thorough  search/test_b.py
jax     all       search/test_b.py::test_c
jax     never     search/test_b.py::test_c[2
needs   plots     search/test_b.py::test_c
""".splitlines()


def tier(column, name, *marks):
    return tiers.Table(column, LINES).tier(name, marks)


@pytest.mark.parametrize(
    ("column", "name", "marks", "wanted"),
    [
        ("tensorflow", "search/test_b.py::test_c", [], "default"),
        ("tensorflow", "search/test_b.py::test_c", ["slow"], "slow"),
        ("tensorflow", "search/test_b.py::test_c", ["thorough"], "thorough"),
        ("tensorflow", "docs/test_d.py::test_e", [], "repository"),
        ("tensorflow", "docs/test_d.py::test_e", ["slow"], "repository"),
        ("oldest", "search/test_b.py::test_c", ["slow"], "thorough"),
        ("oldest", "search/test_b.py::test_c", ["tensorflow"], "default"),
        ("torch", "search/test_b.py::test_c", ["tensorflow"], "never"),
        ("torch", "docs/test_d.py::test_e", [], "never"),
        ("jax", "search/test_f.py::test_c", [], "named"),
        ("jax", "search/test_b.py::test_d", [], "thorough"),
        ("jax", "search/test_b.py::test_c", [], "default"),
        ("jax", "search/test_b.py::test_c[1]", ["slow"], "slow"),
        ("jax", "search/test_b.py::test_c[2]", [], "never"),
        ("jax", "search/test_b.py::test_cold", [], "thorough"),
        ("jax", "test_a.py::test_b", [], "default"),
    ],
)
def test_the_longest_name_decides(column, name, marks, wanted):
    assert tier(column, name, *marks) == wanted


def test_what_no_line_names_is_an_error():
    with pytest.raises(pytest.UsageError, match=r"no line for other/test_a"):
        tier("jax", "other/test_a.py::test_b")


@pytest.mark.parametrize("column", tiers.COLUMNS)
def test_every_line_names_a_test_and_a_tier(column):
    table = tiers.Table(column)
    assert {*table.words.values()} <= tiers.WORDS
    for name in [*table.words, *(x for x, _ in table.needs)]:
        file, *inside = name.partition("[")[0].split("::")
        assert (tiers.TESTS / file).exists(), name
        for part in inside:
            text = (tiers.TESTS / file).read_text()
            assert re.search(rf"(def|class) {part}\b", text), name


def test_extras_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(tiers.EXTRAS, "plots", "no_such_package")
    table = tiers.Table("jax", LINES)
    assert table.missing("search/test_b.py::test_c[1]") == ["plots"]
    assert table.missing("search/test_b.py::test_d") == []


def test_the_readme_leaves_out_no_test_of_the_default_tier():
    section = (ROOT / "README.md").read_text().partition("\n## Tests\n")[2]
    extras = re.search(r'-e "\.\[(.*)\]"', section)[1].split(",")
    table = tiers.Table("tensorflow")
    needed = {extra for _, extra in table.needs}
    assert needed == tiers.EXTRAS.keys()
    assert needed <= {*extras}


def test_every_job_is_one_of_the_workflow():
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    jobs = re.search(r"job: \[(.*)\]", workflow)[1].split(", ")
    table = tiers.Table("tensorflow")
    assert {*jobs} == {*table.jobs.values()}


def test_stages_of_the_workflow_are_those_of_the_script():
    script = (ROOT / ".ci/run").read_text()
    stages = {*re.findall(r"^(\w+)\(\) \{", script, re.M)}
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    asked = re.findall(r"\.ci/run (.+)", workflow)
    asked = {x for line in asked for x in line.split() if x.isalpha()}
    backends = re.search(r"backend: \[(.*)\]", workflow)[1].split(", ")
    assert asked | {*backends} <= stages
    default = re.search(r"set -- (.+)", script)[1].split()
    assert {*default} == stages - {"install", "run"}
