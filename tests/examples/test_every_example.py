"""All examples that draw are started alike, and write nothing unasked."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples"
RUN = [*FOLDER.glob("*.py")]  # what others import is in `helpers`
DRAW = [path for path in RUN if "--output" in path.read_text()]
TAIL = """
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="{}", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
"""
every = pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
every_that_draws = pytest.mark.parametrize(
    "path", DRAW, ids=lambda path: path.stem
)


def main_of(path):
    (found,) = (
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == "main"
    )
    names = [argument.arg for argument in found.args.args]
    values = [ast.literal_eval(value) for value in found.args.defaults]
    return dict(zip(names, values, strict=True))


@every
def test_every_example_can_be_tried_quickly(path):
    options = main_of(path)
    assert next(iter(options)) == "quick"
    assert options["quick"] is False


@every_that_draws
def test_the_command_line_has_the_same_options(path):
    options = main_of(path)
    name = "outputs/dates" if path.stem == "translate_dates" else "outputs"
    assert options["output"] == name
    assert options["seed"] == 0
    own = "data|source|target|epochs|units|wav|compare|language|seeds|download"
    own += "|attention"
    own = rf'    parser\.add_argument\("--({own})".*\n'
    text = re.sub(own, "", path.read_text())
    assert text.endswith(TAIL.format(name))


@every_that_draws
def test_no_file_of_the_project_is_where_an_example_writes(path):
    assert "__file__" not in path.read_text()


def test_outputs_are_not_tracked():
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "/outputs/" in ignored  # and no room of that name


@every
def test_the_first_line_says_what_it_is_about(path):
    first = ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]
    assert "?" in first
    assert len(first) <= 77
