"""Do the tests find faults? Make some, one at a time, and see.

    python tests/support/mutants.py --count 100 --seed 0

A mutant is the package with one change: another operator, number, returned
value, condition or flag. The same seed draws the same mutants of the same code,
from 40 files. Of each tier those tests run that concern the changed file: its
mirror test, its room, tests that import it or its names, the mirror tests of
files that import its names, and those that do what users do. The first test
that fails catches the mutant; so does a run that takes too long. What the
default tier does not catch, the slow tests and then the thorough ones may.

A hundred take about an hour of one core in the default tier alone.
"""

import argparse
import ast
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "keras_attention"
FILES = 40
CONTEXT = multiprocessing.get_context("forkserver")
TIERS = {  # options by which pytest runs those of the named files
    "default": ["-m", "not slow and not repository"],
    "slow": ["-m", "slow"],
    "thorough": ["--thorough", "-m", "thorough"],
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.MatMult: ast.Mult,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


class Mutant(NamedTuple):
    """One change of a file: what stands from one offset to another."""

    path: Path
    line: int
    begin: int
    end: int
    kind: str
    after: str


def mutants_of(path: Path) -> list:
    """List all mutants of a file of the package."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node in _expressions(ast.parse(text)):
        for kind, after in _changes(node):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            found.append(Mutant(path, node.lineno, begin, end, kind, after))
    return found


def _expressions(tree):
    """Walk through all but texts, annotations, decorators and errors."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Import)):
            continue
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list"}:
                continue
            parts = value if isinstance(value, list) else [value]
            todo += [x for x in parts if isinstance(x, ast.AST)]
        if hasattr(node, "lineno"):
            yield node


def _changes(node):
    """List the changes of a node: their kinds, and what stands there then."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        if type(node.op) in OPERATORS:
            changed = {**vars(node), "op": OPERATORS[type(node.op)]()}
            yield "operator", _written(type(node), changed)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        changed = {**vars(node), "ops": [OPERATORS[type(node.ops[0])]()]}
        yield "operator", _written(ast.Compare, changed)
    elif isinstance(node, ast.UnaryOp) and isinstance(
        node.op, (ast.Not, ast.USub)
    ):
        yield "operator", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "flag", repr(not node.value)
        elif isinstance(node.value, (int, float)):
            yield "number", repr(node.value + 1)
    elif isinstance(node, ast.Return) and node.value is not None:
        if ast.unparse(node.value) != "None":
            yield "return", "return None"
    elif isinstance(node, ast.IfExp):
        swapped = {**vars(node), "body": node.orelse, "orelse": node.body}
        yield "condition", _written(ast.IfExp, swapped)


def _written(kind, fields):
    return f"({ast.unparse(kind(**fields))})"


def draw(count: int, seed: int) -> list:
    """Draw mutants, as many of each file as of another."""
    chance = random.Random(seed)
    known = {x: mutants_of(x) for x in sorted(PACKAGE.rglob("*.py"))}
    each = -(-count // FILES)
    files = [x for x, found in known.items() if len(found) >= each]
    files = chance.sample(files, FILES)
    rounds = [chance.sample(known[x], each) for x in files]
    return [x for turn in zip(*rounds, strict=True) for x in turn][:count]


def tests_for(path: Path) -> list:
    """List which tests concern a file, the nearest first."""
    inside = path.relative_to(PACKAGE)
    mirror = _mirror(inside)
    names = "|".join(
        x.name
        for x in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(x, (ast.FunctionDef, ast.ClassDef))
    )
    imports = re.compile(
        rf"^\s*from keras_attention\S* import ({names})\b", re.M
    )
    users = [
        _mirror(x.relative_to(PACKAGE))
        for x in sorted(PACKAGE.rglob("*.py"))
        if names and imports.search(x.read_text(encoding="utf-8"))
    ]
    every = sorted((ROOT / "tests").rglob("test_*.py"))
    folder = next(x for x in mirror.parents if x.exists())
    room = [x for x in every if x.parent == folder]
    smoke = [x for x in every if x.name == "test_smoke.py"]
    module = ".".join([PACKAGE.name, *inside.with_suffix("").parts])
    near = [
        x
        for x in every
        if f"from {module} import" in (text := x.read_text(encoding="utf-8"))
        or (names and imports.search(text))
    ]
    found = dict.fromkeys([mirror, *room, *near, *users, *smoke])
    return [x for x in found if x.exists()]


def _mirror(inside):
    return ROOT / "tests" / inside.with_name(f"test_{inside.name}")


def run(tree: Path, mutant: Mutant, tier: str, limit: float) -> tuple:
    """Run the tests of a tier on a mutant, in a copy of the repository.

    Returns:
        What caught it, or an empty string, and CPU seconds.
    """
    path, log = tree / mutant.path.relative_to(ROOT), tree / "log.txt"
    content = path.read_bytes()
    path.write_bytes(
        content[: mutant.begin] + mutant.after.encode() + content[mutant.end :]
    )
    tests = [x.relative_to(ROOT).as_posix() for x in tests_for(mutant.path)]
    options = ["-x", "-p", "no:cacheprovider", *TIERS[tier], *tests]
    process = CONTEXT.Process(target=_pytest, args=(tree, log, options))
    process.start()
    process.join(limit)
    path.write_bytes(content)
    if process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return "the time limit", limit
    said = log.read_text()
    seconds = float((re.findall(r"^(\d+) CPU seconds", said, re.M) or [0])[0])
    if process.exitcode in {
        pytest.ExitCode.OK,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    }:
        return "", seconds
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.M)
    return (found or [f"exit code {process.exitcode}"])[0], seconds


def _pytest(tree, log, options):
    """Run pytest in a process of its own, which has imported Keras already."""
    os.setsid()
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree)
    sys.dont_write_bytecode = True
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.dup2(1, 2)
    sys.exit(int(pytest.main(options)))


def main() -> None:
    """Draw mutants, run the tests, and print who caught what."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--numbers", nargs="+", type=int, help="of those drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=[*TIERS])
    parser.add_argument("--limit", type=float, default=900.0, help="seconds")
    given = parser.parse_args()
    total, began = Counter(), time.time()
    CONTEXT.set_forkserver_preload(["tensorflow", "keras", "pytest"])
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        skipped = shutil.ignore_patterns(
            ".git", ".venv*", "__pycache__", "site"
        )
        shutil.copytree(ROOT, tree, ignore=skipped)
        drawn = dict(enumerate(draw(given.count, given.seed)))
        chosen = given.numbers or [*drawn]
        for number in chosen:
            mutant = drawn[number]
            text = mutant.path.read_bytes()[mutant.begin : mutant.end].decode()
            name = mutant.path.relative_to(ROOT)
            print(f"{number} {name}:{mutant.line} {mutant.kind}")
            print(f"    {' '.join(text.split())[:70]}")
            print(f"    {' '.join(mutant.after.split())[:70]}")
            for tier in given.tiers:
                caught, seconds = run(tree, mutant, tier, given.limit)
                result = f"caught by {caught}" if caught else "survived"
                print(f"    {tier}: {result} ({seconds:.0f} s)", flush=True)
                total[tier] += bool(caught)
                if caught:
                    break
    caught = 0
    for tier in given.tiers:
        caught += total[tier]
        print(f"{caught} of {len(chosen)} caught with the {tier} tier")
    print(f"{time.time() - began:.0f} seconds")


if __name__ == "__main__":
    main()
