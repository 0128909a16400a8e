"""Tiers of tests: by their marks, and by the table in `tests/tiers.txt`."""

import functools
import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]
TABLE = TESTS / "tiers.txt"
COLUMNS = ("tensorflow", "beside", "torch", "jax", "oldest")
WORDS = {"all", "repository", "quick", "thorough", "named", "never"}
THOROUGH = pytest.mark.thorough
DEFAULT = {"default"}
ALL = DEFAULT | {"slow", "repository"}
EVERY = ALL | {"thorough"}
strict = []  # what asks for all tests: a package that is missing is an error


def some(cases: Iterable, count: int) -> list:
    """Mark all cases but the first `count` as thorough.

    Args:
        cases: What a test is parametrized by.
        count: How many of them every run has.
    """
    return [
        pytest.param(*_values(case), marks=THOROUGH) if i >= count else case
        for i, case in enumerate(cases)
    ]


def _values(case):
    return case if isinstance(case, tuple) else (case,)


def needs(module: str, extra: str) -> ModuleType:
    """Import a module of an extra, or skip the tests that need it.

    Args:
        module: A module, or a package.
        extra: Which extra of `setup.cfg` installs it. In a run of all tests
            it has to be installed.
    """
    reason = f"pip install -e '.[{extra}]': `{module}` is missing"
    return (
        importlib.import_module(module)
        if strict
        else pytest.importorskip(module, reason=reason)
    )


class Table:
    """What `tests/tiers.txt` says about one of its columns.

    Args:
        column: One of `COLUMNS`.
    """

    def __init__(self, column: str):
        self.column = column
        self.rooms = {}  # name: job
        self.words = {}  # name: word
        for line in TABLE.read_text(encoding="utf-8").splitlines():
            if not line or line.startswith("#"):
                continue
            first, *rest = line.split(maxsplit=2)
            if first not in COLUMNS:
                self.rooms[first], *words = line.split()[1:]
                word = dict(zip(COLUMNS, words, strict=True))[column]
                name = first
            elif first == column:
                word, name = rest
            else:
                continue
            if word not in WORDS:
                raise pytest.UsageError(f"{TABLE}: no word {word!r}: {line}")
            self.words[name] = word
        self.used = set()

    def word(self, name: str) -> str:
        """Return the word for a test, by the longest name that fits it.

        Args:
            name: A path from `tests` on, and perhaps a test in it.
        """
        fits = [x for x in self.words if _fits(x, name)]
        if not fits:
            raise pytest.UsageError(f"{TABLE.name} has no line for {name}")
        best = max(fits, key=len)
        self.used.add(best)
        return self.words[best]

    def words_in(self, file: str) -> set:
        """Return the words for a file and for the tests in it.

        Args:
            file: A path from `tests` on.
        """
        inside = {w for x, w in self.words.items() if x.startswith(f"{file}::")}
        return inside | {self.word(file)}

    def tier(self, item: pytest.Item) -> str:
        """Return the tier of a test, or `named` or `never`."""
        word = self.word(_name(item))
        slow, rare = (item.get_closest_marker(x) for x in ("slow", "thorough"))
        elsewhere = self.column in {"torch", "jax"} and item.get_closest_marker(
            "tensorflow"
        )
        if word == "never" or elsewhere:
            return "never"
        if rare or word == "thorough" or (word == "quick" and slow):
            return "thorough"
        if word in {"repository", "named"}:
            return word
        return "slow" if slow else "default"

    def job(self, item: pytest.Item) -> str:
        """Return which job has the room of a test."""
        inside = _name(item)
        return self.rooms[inside.partition("::")[0].partition("/")[0]]

    def unused(self, items: Iterable) -> list:
        """Return names of tests that none of the collected tests has."""
        files = {_name(x).partition("::")[0] for x in items}
        named = {x for x in self.words if x.partition("::")[0] in files}
        gone = {
            x for x in self.words if not (TESTS / x.partition("::")[0]).exists()
        }
        return sorted(gone | (named - self.used))


def _fits(name, whole):
    if not whole.startswith(name):
        return False
    rest = whole[len(name) :]
    return "[" in name or not rest or rest.startswith(("/", "::", "["))


def _name(item):
    inside = item.path.relative_to(TESTS).as_posix()
    return f"{inside}::{item.nodeid.partition('::')[2]}"


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


@functools.cache
def table(config: pytest.Config) -> Table:
    """Return the column of the table that a run is in."""
    return Table(config.getoption("on"))


@functools.cache
def wanted(config: pytest.Config) -> set:
    """Return the tiers that a run has of what the command line does not name."""
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
        path = Path(path).resolve()
        if path not in (TESTS, TESTS.parent):
            found.append((path, test))
    return found


def is_idle(config: pytest.Config, path: Path) -> bool:
    """Return whether a run has no test of a file, which is not imported."""
    if path.suffix != ".py" or not path.name.startswith("test_"):
        return False
    name = path.relative_to(TESTS).as_posix()
    words = table(config).words_in(name)
    if any(path.is_relative_to(x) for x, _ in named(config)):
        return words == {"never"}
    return words <= {"never", "named", "repository", "thorough"} - wanted(
        config
    )


def select(config: pytest.Config, items: list) -> list:
    """Leave the tests that were asked for, marked by their tiers.

    What the command line names is asked for, a thorough test by its whole
    name.

    Returns:
        The others.
    """
    known, job = table(config), config.getoption("job")
    asked, left = [], []
    for item in items:
        tier = known.tier(item)
        if tier in EVERY:
            item.add_marker(tier)
        takes = tier in wanted(config) or _is_named(config, item, tier)
        mine = job in (None, known.job(item))
        (asked if takes and mine else left).append(item)
    if not named(config) and (unused := known.unused(items)):
        raise pytest.UsageError(f"{TABLE.name} names what is not: {unused}")
    items[:] = asked
    return left


def _is_named(config, item, tier):
    whole = item.nodeid.partition("::")[2]
    return tier != "never" and any(
        item.path.is_relative_to(path) and (tier != "thorough" or test == whole)
        for path, test in named(config)
    )
