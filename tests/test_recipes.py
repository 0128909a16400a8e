"""The recipes of CONTRIBUTING.md: whoever follows one has added a component.

In a copy of the repository a component of each kind is added again, under
another name, in the files that the recipe lists, and in no others.
"""

import json
import os
import re
import shutil
import subprocess
import sys

from source import ROOT

# The class that is copied, its file, and the name of the copy. Files that list
# components get, for each line with a name of the old one, a line of the copy.
COPIES = {
    "Add a score": ("CosineAttention", "cosine", "AngleAttention", "angle"),
    "Add an alignment": ("ForwardAlignment", "forward", "Onward", "onward"),
    "Add an output": (
        *("LexicalTranslation", "lexical"),
        *("LiteralTranslation", "literal"),
    ),
    "Add a search": ("GreedySearch", "greedy", "EagerSearch", "eager"),
    "Add a tokenizer": (
        *("CharacterTokenizer", "character"),
        *("LetterTokenizer", "letter"),
    ),
}
# What examples print, and how short the ways are, has tests of its own.
MATTER = "not examples_run and not way_to"
RECIPES = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
COPIED = "keras_attention", "tests", "docs", "examples", "benchmarks"
PAIRS = {  # what a line is replaced by in `tests/support/mechanisms.py`
    "Add a score": (
        "PAIRS = {\n",
        'PAIRS = {\n    "angle": ("softmax", "forward", "local-m"),\n',
    ),
    "Add an alignment": (
        '"kernel": ("parallel", "softmax", "entmax15")',
        '"kernel": ("onward", "onward", "onward")',
    ),
}
CHECKS = [
    *("tests/test_laws.py", "tests/test_face.py"),
    *("tests/attention/test_angle.py", "tests/alignments/test_onward.py"),
    *("tests/search/test_eager.py", "tests/text/test_letter.py"),
    "tests/attention/test_every_pair.py",
    "tests/text/test_saved.py",
]


def files_of(recipe):
    """The files that the table of a recipe names."""
    section = RECIPES.partition(f"\n## {recipe}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.M)
    return [name for cell in cells for name in re.findall("`(.*?)`", cell)]


def add(folder, recipe):
    """Follow a recipe."""
    kind, old, new_kind, new = COPIES[recipe]

    def renamed(text):
        text = text.replace(kind, new_kind)
        return re.sub(rf"\b(test_)?{old}\b", rf"\g<1>{new}", text)

    for name in files_of(recipe):
        path = folder / name
        if "NAME" in name:
            source = folder / name.replace("NAME", old)
            target = folder / name.replace("NAME", new)
            target.write_text(renamed(source.read_text("utf-8")), "utf-8")
        elif path.suffix == ".json":
            content = json.loads(path.read_text("utf-8"))
            content[new_kind] = content[kind]
            path.write_text(json.dumps(content))
        elif name == "tests/support/mechanisms.py":
            text = path.read_text("utf-8").replace(*PAIRS[recipe])
            path.write_text(text, "utf-8")
        else:
            lines = path.read_text("utf-8").splitlines(keepends=True)
            pairs = ((x, renamed(x)) for x in lines)
            both = (x if x == y else x + y for x, y in pairs)
            path.write_text("".join(both), "utf-8")


def test_recipes_name_every_file(tmp_path):
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    for recipe in COPIES:
        add(tmp_path, recipe)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", MATTER, *CHECKS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
