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
DEFAULT = {"default"}
ALL = DEFAULT | {"slow", "repository"}
EVERY = ALL | {"thorough"}
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
    return [
        pytest.param(*_values(case), marks=mark) if i >= count else case
        for i, case in enumerate(cases)
    ]


def _values(case):
    return case if isinstance(case, tuple) else (case,)


class Table:
    """What `tests/tiers.txt` says about one of its columns.

    Names are paths from `tests` on, and perhaps tests in them.

    Args:
        column: One of `COLUMNS`.
        lines: Those of the table.
    """

    def __init__(self, column: str, lines: Iterable[str]):
        self.column = column
        self.jobs, self.words, self.needs, self.used = {}, {}, [], set()
        for line in lines:
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
        if not WORDS >= {*self.words.values()}:
            raise pytest.UsageError(f"{TABLE.name} has words beside {WORDS}")

    def word(self, name: str) -> str:
        """Return the word for a test, by the longest name that fits it."""
        found = [x for x in self.words if _fits(x, name)]
        if not found:
            raise pytest.UsageError(f"{TABLE.name} has no line for {name}")
        best = max(found, key=len)
        self.used.add(best)
        return self.words[best]

    def words_in(self, file: str) -> set:
        """Return the words for a file and for the tests in it."""
        inside = {w for x, w in self.words.items() if x.startswith(f"{file}::")}
        return inside | {self.word(file)}

    def tier(self, name: str, marks: Iterable[str]) -> str:
        """Return the tier of a test with such marks, or `named` or `never`."""
        word = self.word(name)
        elsewhere = self.column in {"torch", "jax"} and "tensorflow" in marks
        if word == "never" or elsewhere:
            return "never"
        rare = word == "thorough" or (word == "quick" and "slow" in marks)
        if rare or "thorough" in marks:
            return "thorough"
        if word in {"repository", "named"}:
            return word
        return "slow" if "slow" in marks else "default"

    def missing(self, name: str) -> list:
        """Return the extras that a test needs and that are not installed."""
        needed = [extra for x, extra in self.needs if _fits(x, name)]
        return [x for x in needed if not importlib.util.find_spec(EXTRAS[x])]

    def unused(self, names: Iterable) -> list:
        """Return the lines for tests that are not among those collected."""
        files = {_file(x) for x in names}
        return sorted(
            x
            for x in self.words
            if not (TESTS / _file(x)).exists()
            or (_file(x) in files and x not in self.used)
        )


def _file(name):
    return name.partition("::")[0]


def _fits(name, whole):
    rest = whole.removeprefix(name)
    return whole.startswith(name) and (
        not rest or "[" in name or rest.startswith(("/", "::", "["))
    )


@functools.cache
def table(config: pytest.Config) -> Table:
    """Return the column of the table that a run is in."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return Table(config.getoption("on"), lines)


@functools.cache
def wanted(config: pytest.Config) -> set:
    """Return the tiers of a run, of what its command line does not name."""
    if config.getoption("thorough"):
        return EVERY
    more = config.getoption("all") or config.getoption("markexpr")
    return ALL if more else DEFAULT


@functools.cache
def named(config: pytest.Config) -> list:
    """Return what the command line names: paths, and tests in them."""
    found = []
    for argument in config.args:
        path, _, test = argument.partition("::")
        if Path(path).resolve() not in (TESTS, TESTS.parent):
            found.append((Path(path).resolve(), test))
    return found


def missing(config: pytest.Config, name: str) -> list:
    """Return the extras that are missing; all tests together need them all."""
    return table(config).missing(name) if wanted(config) == DEFAULT else []


def is_idle(config: pytest.Config, path: Path) -> bool:
    """Return whether a run has no test of a file, which is not imported."""
    if not path.match("test_*.py"):
        return False
    name = path.relative_to(TESTS).as_posix()
    words = table(config).words_in(name)
    if any(path.is_relative_to(x) for x, _ in named(config)):
        idle = {"never"}
    else:
        idle = {"never", "named", "repository", "thorough"} - wanted(config)
    return words <= idle or bool(missing(config, name))


def select(config: pytest.Config, items: list) -> list:
    """Leave the tests that were asked for, marked by their tiers.

    What the command line names is asked for, a thorough test by its whole
    name.

    Returns:
        The others.
    """
    known, job = table(config), config.getoption("job")
    names = {
        item: f"{item.path.relative_to(TESTS).as_posix()}::{_test(item)}"
        for item in items
    }
    asked, left = [], []
    for item, name in names.items():
        tier = known.tier(name, {x.name for x in item.iter_markers()})
        if tier in EVERY - DEFAULT:
            item.add_marker(tier)
        if extras := missing(config, name):
            reason = f"pip install -e '.[{','.join(extras)}]'"
            item.add_marker(pytest.mark.skip(reason=reason))
        takes = tier in wanted(config) or _is_named(config, item, tier)
        mine = job in (None, known.jobs[_file(name).partition("/")[0]])
        (asked if takes and mine else left).append(item)
    if not named(config) and (unused := known.unused(names.values())):
        raise pytest.UsageError(f"{TABLE.name} names what is not: {unused}")
    items[:] = asked
    return left


def _test(item):
    return item.nodeid.partition("::")[2]


def _is_named(config, item, tier):
    return tier != "never" and any(
        item.path.is_relative_to(path)
        and (tier != "thorough" or test == _test(item))
        for path, test in named(config)
    )


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


def report(config: pytest.Config) -> str:
    """Return which tests were left out because an extra is missing."""
    left = {}
    for name, extra in table(config).needs:
        if extra in missing(config, name):
            left.setdefault(extra, []).append(name)
    return "\n".join(
        f"Left out without the extra `{extra}`: {', '.join(names)}"
        for extra, names in left.items()
    )
