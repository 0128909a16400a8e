"""Laws of the house: what every file must keep, whoever adds it.

What ruff can see is in `pyproject.toml`: backends and private names of others,
imports in functions, code that is run from text.
"""

import importlib
import re

import mechanisms
import numpy as np
import pytest
import source
from source import FILES
from source import PACKAGE
from source import ROOT
from tiny import tiny_translator

import keras_attention
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import SequenceCrossentropy
from keras_attention import Translator

FLOORS = [
    "arrays backend checks extras files version",
    "ops steps",
    "layers",
    "alignments",
    "attention search text plots",
    "data",
    "decoder training",
    "outputs resume",
    "models",
    "streaming translation",
    "export migration",
    "translator",
    "recipe",
    "beam commands",
]
OF_CLASSES = {"_abc_impl", "_tf_module_ignored_properties"}
FLOOR = {part: n for n, parts in enumerate(FLOORS) for part in parts.split()}
NAME_BACKENDS = {"backend", "text", "export", "training", "migration"}
CODE = [
    *PACKAGE.rglob("*.py"),
    *(ROOT / "examples").rglob("*.py"),
    *(ROOT / "benchmarks").rglob("*.py"),
    *(ROOT / "docs").rglob("*.py"),
]
CLASSES = [(path, c) for path in FILES for c in source.classes(path)]
REGISTERED = (
    'keras.saving.register_keras_serializable(package="keras_attention")'
)
PUBLIC = set(keras_attention.__all__)
STANDARD_PARTS = {"copying", "lexical", "shortlist", "tie_embeddings"}
# Where users name them, or where they are what a file is about.
MAY_NAME_PARTS = {
    *("outputs", "migration", "data"),
    *("models/seq2seq.py", "models/language_model.py"),
    *("commands/show.py", "recipe/model.py"),
}
MODELS = "base", "combination", "views"
ARE_LIMITED = {"translator.py", *(f"models/{x}.py" for x in MODELS)}
CONFIGURED = {  # classes whose subclasses have a config
    *("AbstractConfigured", "AbstractKernelLayer"),
    *("AbstractAttention", "AbstractAlignment"),
}
every_file = source.every([(path,) for path in FILES])
every_class = source.every(CLASSES)
every_code = source.every([(path,) for path in CODE])


# Where things stand.


@every_file
def test_imports_point_down(path):
    own = source.part(path)
    assert own in FLOOR, f"say in FLOORS where {own} stands"
    for name in source.imports(path):
        package, _, inner = name.partition(".")
        target = inner.split(".")[0]
        if package == "keras_attention" and target != own:
            assert target in FLOOR, f"import {name} from where it is written"
            assert FLOOR[target] < FLOOR[own], f"imports {name}"


@every_file
def test_every_file_has_its_tests(path):
    """Each that has a public name; others are tested through their users."""
    if not set(source.defined_names(path)) & PUBLIC:
        return
    inside = path.relative_to(PACKAGE)
    mirror = ROOT / "tests" / inside.with_name(f"test_{inside.name}")
    assert mirror.exists(), f"write {mirror.relative_to(ROOT)}"


def test_the_page_of_rooms_has_them_all_and_none_below_what_it_imports():
    """A table, the highest floor first."""
    page = (ROOT / "docs" / "hood" / "house.md").read_text()
    rooms = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", page, re.M)
    assert sorted(rooms) == sorted(FLOOR)
    assert rooms == sorted(rooms, key=lambda room: -FLOOR[room])


def test_the_top_level_is_small():
    files = [path.name for path in PACKAGE.glob("*.py")]
    assert len(files) <= 8, "give it a folder"


# What is not done here.


@every_class
def test_private_names_do_not_override(path, node):
    """A private name of a base of Keras is not ours to define."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    if node.name.startswith("_") or source.part(path) in NAME_BACKENDS:
        pytest.importorskip("tensorflow")
    if source.part(path) == "beam":
        pytest.importorskip("apache_beam", reason="the extra `beam`")
    if source.part(path) == "backend":
        pytest.importorskip(path.stem, reason="another backend")
    ours = getattr(importlib.import_module(name), node.name)
    own = {x for x in vars(ours) if source.is_private(x)}
    for base in ours.__mro__:
        if not base.__module__.startswith("keras_attention"):
            assert not own & set(vars(base)) - OF_CLASSES


@every_file
def test_ranges_have_a_dtype(path):
    """Without one they follow `floatx`, and cannot be compared with ids."""
    for call in source.calls(path, "ops.arange"):
        assert any(word.arg == "dtype" for word in call.keywords), call.lineno


@every_file
def test_operations_are_those_of_the_backend(path):
    """Those of `keras.ops` are slower on torch."""
    if source.part(path) not in ("backend", "plots"):
        assert "from keras import ops" not in path.read_text(encoding="utf-8")


@every_file
def test_standard_parts_are_named_where_they_are_made(path):
    """Elsewhere a model is asked for what it does, whatever its parts."""
    inside = path.relative_to(PACKAGE)
    if {inside.parts[0], inside.as_posix()} & MAY_NAME_PARTS:
        return
    named = source.names(path) & STANDARD_PARTS
    if inside.as_posix() in ARE_LIMITED:
        named -= {"shortlist"}
    assert not named


@every_file
def test_facts_are_declared(path):
    """No guess by what a class has overridden; and no code from files."""
    text = path.read_text()
    assert not re.search(r"object\.__new__|\.\w+ is (not )?Abstract\w+\.", text)
    assert "safe_mode" not in text
    if path != PACKAGE / "layers" / "recurrence.py":  # which has `sublayers`
        assert not [*source.calls(path, "vars")]


# How long they are.


@every_code
def test_files_are_short(path):
    """Under 350 lines beside docstrings."""
    lines = len(path.read_text().splitlines())
    assert lines - source.docstring_lines(path) <= 350


@every_code
def test_functions_are_short(path):
    long = {
        name: length
        for name, _, length in source.functions(path)
        if length > 50
    }
    assert not long


# How classes are made.


@every_class
def test_only_abstract_classes_have_subclasses(path, node):
    ours = {c.name for _, c in CLASSES}
    concrete = {
        name
        for name in source.base_names(node)
        if name in ours and not name.startswith("Abstract")
    }
    assert not concrete, "wrap it, or part off an abstract base"


@every_class
def test_what_is_saved_is_registered(path, node):
    """Layers load without `custom_objects`, as do searches and tokenizers."""
    methods = {getattr(n, "name", None) for n in node.body}
    saved = "get_config" in methods or CONFIGURED & {*source.base_names(node)}
    if saved and not node.name.startswith("Abstract"):
        assert REGISTERED in source.decorators(node)


NAME = "[-_]".join(("keras", "attention"))  # of another project on PyPI
OTHER_PROJECT = re.compile(  # extra, version or address; command; its name
    rf"(?<![\w/.-]){NAME}(?:\[|\s*(?:[=<>~!]=|@))"
    rf"|\b(?:install|add)\b(?:[^\n]|\\\n)*(?<![\w/.-]){NAME}(?![\w/.-])"
    rf"|(?m:^name *= *\W?{NAME}\W?$)"
)
FOLDERS = ".ci", "benchmarks", "docs", "examples", "keras_attention", "tests"


def test_nothing_installs_the_other_project():
    name = NAME.replace("[-_]", "-")
    for line in (
        *(f"pip install {name}", f'install it: "{name}[text]"', f"{name}>=1"),
        *(
            f"pip install \\\n  -U {name}",
            f'name = "{name}"',
            f"{name} @ git+a",
        ),
        f"uv add {name.replace('-', '_')}",
    ):
        assert OTHER_PROJECT.search(line), line
    inside = (file for x in FOLDERS for file in (source.ROOT / x).rglob("*"))
    broken = []
    for file in (*source.ROOT.glob("*.*"), *inside):
        if file.is_file() and file.suffix in source.TEXTS:
            found = OTHER_PROJECT.search(file.read_text("utf-8"))
            broken += [f"{file}: {found.group()}"] if found else []
    assert not broken


def test_the_way_to_a_score_is_short():
    """From `Seq2Seq.fit` down: a reader opens few files, and no floor twice.

    Left out are loops, which call the decoder's step back, and `__call__`.
    """
    ids = np.array([[2, 4, 3]], "int32")
    model = mechanisms.make_model(BahdanauAttention(3), "luong")
    model.compile("sgd", loss=SequenceCrossentropy(), run_eagerly=True)
    ways = source.stacks(
        lambda: model.fit((ids, ids), ids, verbose=0), "additive_scores"
    )
    for way in ways:
        way = [x for x in way if x != PACKAGE / "layers" / "base.py"]
        assert len(set(way)) <= 10
        parts = [source.part(path) for path in way]
        floors = [FLOOR[x] for x in parts if x not in ("ops", "backend")]
        assert floors == sorted(floors, reverse=True)
    assert ways


@pytest.mark.tensorflow
@pytest.mark.usefixtures("without_graphs")
def test_the_way_to_a_translation_is_short():
    """From a sentence to a score, where a beam search calls the step.

    What calls the step back is left out: the search's loop, and the blocks
    that begin it. There the way goes up again, to the model.
    """
    tiny = tiny_translator()
    parts = tiny.model, tiny.source_tokenizer, tiny.target_tokenizer
    translator = Translator(*parts, BeamSearch(2, max_length=3))
    ways = source.stacks(lambda: translator(["12"]), "additive_scores")
    for way in ways:
        files = {path.relative_to(PACKAGE).as_posix() for path in way}
        files -= {"search/hypotheses.py"}
        assert len(files) <= 14  # three of them compile
        parts = [source.part(path) for path in way]
        parts = [x for x in parts if x not in ("ops", "backend")]
        down = [FLOOR[x] for x in parts[: parts.index("search") + 1]]
        assert down == sorted(down, reverse=True)
    assert ways
