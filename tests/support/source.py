"""The source of the package, as laws read it: files, imports, docstrings."""

import ast
import functools
import re
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "keras_attention"
FILES = sorted(PACKAGE.rglob("[a-z]*.py"))  # all but `__init__`
TEXTS = {
    "",
    ".cff",
    ".cfg",
    ".in",
    ".md",
    ".py",
    ".pyi",
    ".sh",
    ".toml",
    ".yml",
}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@functools.cache
def parse(path):
    return ast.parse(path.read_text())


def part(path):
    """The part of the house that a file belongs to: folder or file."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def every(cases):
    """Make a law one test of all cases, which names those that break it.

    Args:
        cases: The arguments of the law, a tuple each: a path, and perhaps a
            class of that file.
    """

    def decorate(law):
        def test():
            broken = []
            for case in cases:
                try:
                    law(*case)
                except AssertionError as error:
                    names = [label(case[0]), *(x.name for x in case[1:])]
                    broken.append(": ".join([*names, str(error)]))
            assert not broken, "\n".join(broken)

        test.__doc__ = law.__doc__
        return test

    return decorate


def label(path):
    return str(path.relative_to(ROOT).with_suffix(""))


def imports(path):
    """All that a file imports, with dots, by statement or by `require`."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            if getattr(node.func, "id", None) == "require":
                yield node.args[0].value


def functions(path):
    """Name, node and length without docstring of every function."""
    for node in ast.walk(parse(path)):
        if isinstance(node, FUNCTION):
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node):
                first = node.body[0]
                length -= first.end_lineno - first.lineno + 1
            yield node.name, node, length


def classes(path):
    return [n for n in parse(path).body if isinstance(n, ast.ClassDef)]


def decorators(node):
    return [ast.unparse(d).replace("'", '"') for d in node.decorator_list]


def base_names(node):
    """Names of the bases of a class: `AbstractSearch`, `keras.Model`."""
    return [ast.unparse(base) for base in node.bases]


def arguments(node):
    """Names of a function's arguments, without `self` and `cls`."""
    every = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    every += [a for a in (node.args.vararg, node.args.kwarg) if a]
    return [a.arg for a in every if a.arg not in ("self", "cls")]


def listed(docstring, section="Args"):
    """Names that a section of a docstring lists, or `None` without it."""
    found = re.search(
        rf"^{section}:\n((?:    .*\n|\n)+)", docstring + "\n", re.M
    )
    if found is None:
        return None
    return re.findall(r"^    \*{0,2}(\w+):", found[1], re.M)


def docstring(node):
    return ast.get_docstring(node) or ""


def documented(path):
    """Name and docstring of whatever has one."""
    kinds = (*FUNCTION, ast.ClassDef, ast.Module)
    for node in ast.walk(parse(path)):
        if isinstance(node, kinds) and ast.get_docstring(node):
            yield getattr(node, "name", ""), ast.get_docstring(node)


def docstring_lines(path):
    """How many lines of a file belong to docstrings."""
    kinds = (*FUNCTION, ast.ClassDef, ast.Module)
    count = 0
    for node in ast.walk(parse(path)):
        if isinstance(node, kinds) and ast.get_docstring(node):
            first = node.body[0]
            count += first.end_lineno - first.lineno + 1
    return count


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def defined_names(path):
    """Names that a file defines or sets, on modules, classes and objects."""
    for node in ast.walk(parse(path)):
        if isinstance(node, (*FUNCTION, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(
            node.ctx, ast.Store
        ):
            if getattr(node.value, "id", None) == "self":
                yield node.attr


def names(path):
    """All names of code: variables, attributes, arguments, keywords."""
    kinds = {
        ast.Name: "id",
        ast.Attribute: "attr",
        ast.arg: "arg",
        ast.keyword: "arg",
    }
    nodes = ast.walk(parse(path))
    return {getattr(x, kinds[type(x)]) for x in nodes if type(x) in kinds}


def calls(path, name):
    """Every call of a function, such as `"ops.arange"`."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
            yield node


@functools.cache
def file_of(name):
    """The file of the package that has this name, or `None`."""
    path = Path(name)
    return path if PACKAGE in path.parents else None


def files_of_stack(frame):
    """The file of each frame of the package, the outermost one first."""
    files = []
    while frame:
        files.append(file_of(frame.f_code.co_filename))
        frame = frame.f_back
    return [path for path in files[::-1] if path is not None]


def stacks(run, name: str | None = None) -> list:
    """List the files of the package on the stack at each of its calls.

    Args:
        run: What to run, in this thread and others.
        name: The name of the functions; `None` for all.
    """
    found = []

    def note(frame, event, _):
        code = frame.f_code
        is_named = event == "call" and name in (None, code.co_name)
        if is_named and file_of(code.co_filename):
            found.append(files_of_stack(frame))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found
