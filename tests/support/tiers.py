"""Tiers of tests: by their marks, and by the table in `tests/tiers.txt`."""

import functools
import importlib.util
from collections.abc import Iterable
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TABLE = TESTS / "tiers.txt"
COLUMNS = ("tensorflow", "beside", "torch", "jax", "oldest")
WORDS = {"all", "repository", "quick", "thorough", "named", "never"}
SLOW, THOROUGH = pytest.mark.slow, pytest.mark.thorough
ALL = {"default", "slow", "repository"}
EXTRAS = {  # which package tells that an extra is installed
    "evaluation": "sacrebleu",
    "litert": "ai_edge_litert",
    "onnx": "tf2onnx",
    "plots": "matplotlib",
}


def some(cases: Iterable, count: int, mark=THOROUGH) -> list:
    """Mark all cases but the first `count` as thorough, or as slow.

    Args:
        cases: What a test is parametrized by.
        count: How many of them every run has.
        mark: `THOROUGH` or `SLOW`. Defaults to `THOROUGH`.
    """
    cases = [x if isinstance(x, tuple) else (x,) for x in cases]
    late = [pytest.param(*x, marks=mark) for x in cases[count:]]
    return [pytest.param(*x) for x in cases[:count]] + late


class Table:
    """What `tests/tiers.txt` says about one of its columns.

    Names are paths from `tests` on, and perhaps tests in them.

    Args:
        column: One of `COLUMNS`.
        lines: Those of the table. Defaults to those of the file.
    """

    def __init__(self, column: str, lines: Iterable[str] | None = None):
        self.column = column
        self.jobs, self.words, self.needs = {}, {}, []
        for line in lines or TABLE.read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            first, second, name = line.split(maxsplit=2)
            if first == "needs":
                self.needs.append((name, second))
            elif first not in COLUMNS:
                words = dict(zip(COLUMNS, name.split(), strict=True))
                self.jobs[first], self.words[first] = second, words[column]
            elif first == column:
                self.words[name] = second

    def word(self, name: str) -> str:
        """Return the word for a test, by the longest name that fits it."""
        found = [x for x in self.words if _fits(x, name)]
        if not found:
            raise pytest.UsageError(f"{TABLE.name} has no line for {name}")
        return self.words[max(found, key=len)]

    def tier(self, name: str, marks: Iterable[str]) -> str:
        """Return the tier of a test with such marks, or `named` or `never`."""
        word = self.word(name)
        if self.column in {"torch", "jax"} and "tensorflow" in marks:
            return "never"
        if word == "quick":
            word = "thorough" if "slow" in marks else "all"
        if "thorough" in marks and word != "never":
            return "thorough"
        if word == "all":
            return "slow" if "slow" in marks else "default"
        return word

    def missing(self, name: str) -> list:
        """Return the extras that a test needs and that are not installed."""
        needed = [extra for x, extra in self.needs if _fits(x, name)]
        return [x for x in needed if not importlib.util.find_spec(EXTRAS[x])]


def _fits(name, whole):
    rest = whole.removeprefix(name)
    return whole.startswith(name) and (
        not rest or "[" in name or rest.startswith(("/", "::", "["))
    )


class Run:
    """Which tests a run has: by its table, its tiers, and what it names."""

    def __init__(self, config: pytest.Config):
        self.table, self.job = Table(config.getoption("on")), config.option.job
        self.tiers = {"default"}
        if config.option.all or config.option.markexpr:
            self.tiers = ALL
        if config.option.thorough:
            self.tiers = {*ALL, "thorough"}
        paths = (x.partition("::") for x in config.args)
        named = [(Path(path).resolve(), test) for path, _, test in paths]
        self.named = [x for x in named if x[0] not in (TESTS, TESTS.parent)]

    def missing(self, name: str) -> list:
        """Return the extras that are missing; all tests together need all."""
        return self.table.missing(name) if len(self.tiers) == 1 else []

    def is_idle(self, path: Path) -> bool:
        """Return whether there is no test of a file, which is not imported."""
        if not path.match("test_*.py"):
            return False
        name, known = path.relative_to(TESTS).as_posix(), self.table.words
        words = {w for x, w in known.items() if x.startswith(f"{name}::")}
        idle = {"named", "repository", "thorough"} - self.tiers
        if any(path.is_relative_to(x) for x, _ in self.named):
            idle = set()
        words |= {self.table.word(name)}
        return words <= {*idle, "never"} or bool(self.missing(name))

    def takes(self, item: pytest.Item) -> bool:
        """Return whether a test was asked for, and mark it by its tier.

        What the command line names is asked for, a thorough test by its whole
        name.
        """
        path, test = item.path.relative_to(TESTS), item.nodeid.split("::", 1)[1]
        name, marks = f"{path.as_posix()}::{test}", item.iter_markers()
        tier = self.table.tier(name, {x.name for x in marks})
        if tier in {"slow", "repository", "thorough"}:
            item.add_marker(tier)
        if extras := self.missing(name):
            reason = f"pip install -e '.[{','.join(extras)}]'"
            item.add_marker(pytest.mark.skip(reason=reason))
        is_named = any(
            item.path.is_relative_to(path) and (tier != "thorough" or x == test)
            for path, x in self.named
        )
        mine = self.job in (None, self.table.jobs[path.parts[0]])
        asked = tier in self.tiers or (is_named and tier != "never")
        return mine and asked

    def report(self) -> str:
        """Return which tests were left out because an extra is missing."""
        left = [x for x in self.table.needs if x[1] in self.missing(x[0])]
        return "\n".join(
            f"Left out without the extra `{extra}`: {name}"
            for name, extra in left
        )


run = functools.cache(Run)


def mark_variants(items: Iterable) -> None:
    """Mark the laws of a contract that a `variant` need not obey every day.

    It has those that are marked `sharp`. What the class tests itself, and what
    another class of the same layer has every day, needs no second run.
    """
    for item in items:
        law = item.function.__module__.startswith("contracts.")
        if law and item.get_closest_marker("variant"):
            if not item.get_closest_marker("sharp"):
                item.add_marker("thorough")
