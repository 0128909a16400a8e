"""Laws of the house: what every file must keep, whoever adds it."""

import doctest
import inspect
import json
import re

import keras
import numpy as np
import pytest
import source
from source import FILES
from source import PACKAGE
from source import ROOT

import keras_attention

FLOORS = [
    "backend checks extras files version",
    "ops",
    "layers",
    "alignments",
    "attention search text plots",
    "decoder training",
    "models",
    "export",
    "translator",
]
FLOOR = {part: n for n, parts in enumerate(FLOORS) for part in parts.split()}
BACKENDS = {"tensorflow", "tensorflow_text", "jax", "jaxlib", "torch"}
NAME_BACKENDS = {"backend", "text", "export", "training"}
NEED_TENSORFLOW = {*NAME_BACKENDS, "translator"} - {"backend"}
MAY_IMPORT_LATE = {"extras", "ops"}  # beside the package's own `__getattr__`
CODE = [
    *PACKAGE.rglob("*.py"),
    *(ROOT / "examples").rglob("*.py"),
    *(ROOT / "benchmarks").rglob("*.py"),
]
CLASSES = [c for path in FILES for c in source.classes(path)]
OF_OPS = [
    c.name
    for path in (PACKAGE / "ops").glob("*.py")
    for c in source.classes(path)
]
EXAMPLES = [
    pytest.param(
        docstring,
        id=f"{source.label(path)}:{name}",
        marks=pytest.mark.tensorflow
        if source.part(path) in NEED_TENSORFLOW
        else (),
    )
    for path in FILES
    for name, docstring in source.documented(path)
    if ">>>" in docstring
]
ATTENTIONS = [
    name
    for name, c in vars(keras_attention).items()
    if inspect.isclass(c)
    and issubclass(c, keras.layers.Layer)
    and c.__module__.startswith("keras_attention.attention.")
    and not name.startswith("Abstract")
]
REGISTERED = (
    'keras.saving.register_keras_serializable(package="keras_attention")'
)
GOLDEN = json.loads((ROOT / "tests/golden/weights.json").read_text())
every_file = pytest.mark.parametrize("path", FILES, ids=source.label)
every_class = pytest.mark.parametrize(
    "node", CLASSES, ids=lambda node: node.name
)


# Where things stand.


@every_file
def test_imports_point_down(path):
    own = source.part(path)
    assert own in FLOOR, f"say in FLOORS where {own} stands"
    for name in source.imports(path):
        assert not name.startswith("."), "relative imports: __init__ only"
        package, _, inner = name.partition(".")
        target = inner.split(".")[0]
        if package == "keras_attention" and target != own:
            assert target in FLOOR, f"import {name} from where it is written"
            assert FLOOR[target] < FLOOR[own], f"imports {name}"


@every_file
def test_backends_are_named_in_few_files(path):
    named = {name.split(".")[0] for name in source.imports(path)}
    if source.part(path) not in NAME_BACKENDS:
        assert not named & BACKENDS


@every_file
def test_keras_is_public(path):
    text = path.read_text()
    assert not re.search(r"\bkeras\.src\b|\bfrom keras import src\b", text)


@every_file
def test_no_import_hides_in_a_function(path):
    assert source.hidden_imports(path) == []
    if source.part(path) not in MAY_IMPORT_LATE:
        assert not re.search(r"import_module|__import__", path.read_text())


@every_file
def test_every_file_has_its_tests(path):
    inside = path.relative_to(PACKAGE)
    mirror = ROOT / "tests" / inside.with_name(f"test_{inside.name}")
    assert mirror.exists(), f"write {mirror.relative_to(ROOT)}"


# How long they are.


@pytest.mark.parametrize("path", CODE, ids=source.label)
def test_files_are_short(path):
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize("path", CODE, ids=source.label)
def test_functions_are_short(path):
    long = {
        name: length
        for name, _, length in source.functions(path)
        if length > 50
    }
    assert not long


# How classes are made.


@every_class
def test_public_classes_are_exported(node):
    """Those of `ops/` are for the functions beside them."""
    if not node.name.startswith("_") and node.name not in OF_OPS:
        assert node.name in dir(keras_attention), f"export {node.name}"


@every_class
def test_only_abstract_classes_have_subclasses(node):
    ours = {c.name for c in CLASSES}
    concrete = {
        name
        for name in source.base_names(node)
        if name in ours and not name.startswith("Abstract")
    }
    assert not concrete, "wrap it, or part off an abstract base"


@every_class
def test_what_is_saved_is_registered(node):
    """Layers load without `custom_objects`, as do searches and tokenizers."""
    methods = {getattr(n, "name", None) for n in node.body}
    if "get_config" in methods and not node.name.startswith("Abstract"):
        assert REGISTERED in source.decorators(node)


# What docstrings say.


@every_class
def test_docstring_names_every_argument(node):
    if node.name.startswith("_"):
        return
    docstring = source.docstring(node)
    init = [n for n in node.body if getattr(n, "name", "") == "__init__"]
    if init:
        taken = source.arguments(init[0])
        said = source.listed(docstring) or []
        assert taken in (said, [*said, "kwargs"])
    if "NamedTuple" in source.base_names(node):
        fields = [n for n in node.body if hasattr(n, "annotation")]
        named = [field.target.id for field in fields]
        assert source.listed(docstring, "Attributes") == named


@every_file
def test_docstrings_of_functions_name_every_argument(path):
    for name, node, _ in source.functions(path):
        said = source.listed(source.docstring(node))
        assert said in (None, source.arguments(node)), name


@pytest.mark.parametrize("docstring", EXAMPLES)
def test_examples_run(docstring):
    scope = {**vars(keras.layers), "keras": keras, "ops": keras.ops, "np": np}
    for name in dir(keras_attention):
        if re.search(rf"\b{name}\b", docstring) and name not in FLOOR:
            scope[name] = getattr(keras_attention, name)
    test = doctest.DocTestParser().get_doctest(docstring, scope, "", None, 0)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=said.append)
    assert not said, "".join(said)


# What is written down elsewhere.


@pytest.mark.parametrize("name", ATTENTIONS)
def test_readme_has_a_row(name):
    assert f"| `{name}`" in (ROOT / "README.md").read_text()


@pytest.mark.tensorflow  # the others take seconds to make 16,000 embeddings
def test_the_first_example_of_the_readme_runs():
    text = (ROOT / "README.md").read_text()
    exec(re.search(r"```python\n(.*?)```", text, re.S)[1], {})


@pytest.mark.parametrize("name", ATTENTIONS)
def test_names_of_weights_are_golden(name):
    """A renamed weight breaks checkpoints; here it shows."""
    assert name in GOLDEN, f"add {name} to tests/golden/weights.json"
    golden = GOLDEN[name]
    layer = getattr(keras_attention, name).from_config(golden["arguments"])
    sizes = [golden[k] for k in ("query", "value") if k in golden]
    layer.build(*((None, None, size) for size in sizes))
    weights = {w.name: list(w.shape) for w in layer.weights}
    assert weights == golden["weights"]


def test_golden_knows_no_other_layers():
    assert set(GOLDEN) <= set(ATTENTIONS)
