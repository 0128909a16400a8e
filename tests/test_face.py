"""Laws of the face: names, signatures, docstrings, shapes, and recipes."""

import ast
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
from keras_attention.alignments import AbstractAlignment
from keras_attention.attention import AbstractAttention
from keras_attention.search import AbstractSearch

CLASSES = [(path, c) for path in FILES for c in source.classes(path)]
NEED_TENSORFLOW = {"data", "export", "text", "training", "translator"}
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
README = (ROOT / "README.md").read_text()
GOLDEN = json.loads((ROOT / "tests/golden/weights.json").read_text())
PUBLIC = [  # but for what may import TensorFlow
    getattr(keras_attention, name)
    for name, room in keras_attention.NAMES.items()
    if room not in (keras_attention.LATE, "text")  # which compute names
]
PUBLIC_CLASSES = [x for x in PUBLIC if inspect.isclass(x)]
LAYERS = [c for c in PUBLIC_CLASSES if issubclass(c, keras.layers.Layer)]
# What Keras names and calls; the class docstring speaks for it.
HOOKS = {
    *("build", "call", "fit", "export", "get_config", "from_config"),
    *("compute_mask", "compute_output_shape", "compute_output_spec"),
    *("update_state", "result", "reset_state", "state_size"),
}
# Methods whose results are Python values.
PLAIN = {"get_config", "from_config", "from_json", "load", "save", "to_json"}
# Arguments of a base; what is made of others has those of the others.
FIXED = {
    "RequiredPhrases": {*AbstractSearch(max_length=1).get_config()},
    "ChunkwiseAttention": {"alignment"},
    "GaussianMixtureAttention": {"alignment"},
    "MultiHead": {"alignment"},
}
every_class = source.every(CLASSES)
every_file = source.every([(path,) for path in FILES])
every_public_class = pytest.mark.parametrize("kind", PUBLIC_CLASSES)


def leaves(base):
    """All classes of this package that are made of a base."""
    found = {c for c in base.__subclasses__()} | {
        d for c in base.__subclasses__() for d in leaves(c)
    }
    return {
        c
        for c in found
        if c.__module__.startswith("keras_attention.")
        and not c.__name__.startswith("Abstract")
    }


ATTENTIONS = sorted(c.__name__ for c in leaves(AbstractAttention))
COMPOSED = ["AttentionPooling", "GraphAttention", "SelfAttention"]


# Names.


@pytest.mark.tensorflow
def test_a_star_brings_all_names_and_no_other():
    """So it replaces no `ops` by the folder of that name."""
    scope = {}
    exec("from keras_attention import *", scope)
    assert set(scope) - {"__builtins__"} == set(keras_attention.NAMES)


def test_editors_see_every_name():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    for node in stub.body[1:]:
        assert node.level == 1
        assert all(alias.asname == alias.name for alias in node.names)
    assert (PACKAGE / "py.typed").exists()


@every_class
def test_registered_classes_are_exported(path, node):
    """What users write down and save: layers, losses, searches, tokenizers.

    Keras knows them from `import keras_attention` on.
    """
    registered = any("register_keras" in d for d in source.decorators(node))
    if registered and node.name != "SimplexAlignment":  # it has its names
        assert keras_attention.NAMES[node.name] != keras_attention.LATE


# Signatures.


@every_public_class
def test_signatures_show_every_argument(kind):
    """Those of its bases too, but for those of Keras."""
    shown = inspect.signature(kind).parameters
    for base in kind.__mro__:
        ours = base.__module__.startswith("keras_attention")
        if ours and "__init__" in base.__dict__:
            known = set(inspect.signature(base.__init__).parameters)
            missing = known - set(shown) - {"self", "args", "kwargs"}
            assert missing <= FIXED.get(kind.__name__, set())


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda x: x.__name__)
def test_signatures_are_annotated(thing):
    """Python values have types; tensors have their shapes in words."""
    if inspect.isclass(thing) or thing.__name__.startswith("plot"):
        for name, p in inspect.signature(thing).parameters.items():
            plain = p.default is inspect.Parameter.empty or p.default is None
            known = p.annotation is not inspect.Parameter.empty
            assert known or plain or name == "kwargs", name


@every_file
def test_results_that_no_tensor_can_be_are_annotated(path):
    """Of names that say what they return; tensors have shapes in words."""
    for name, node, _ in source.functions(path):
        if name in PLAIN or name.startswith(("export_", "is_")):
            assert node.returns, name


@pytest.mark.parametrize("kind", LAYERS)
def test_layers_tell_shapes(kind):
    if not kind.__name__.startswith("Abstract") and "call" in dir(kind):
        if issubclass(kind, AbstractAlignment | keras.layers.RNN):
            return
        ours = kind.compute_output_shape.__module__
        assert ours.startswith("keras_attention")


# What docstrings say.


@every_public_class
def test_public_methods_have_docstrings(kind):
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        ours = method.__module__.startswith("keras_attention")
        hook = name in HOOKS or name.startswith(("_", "on_"))
        if ours and not hook:
            assert inspect.getdoc(method), name


@every_file
def test_formulas_are_blocks_of_their_own(path):
    """A blank line before them, and one after: else Markdown joins lines."""
    for _, docstring in source.documented(path):
        for found in re.finditer(r"^( *)Formula:\n(.*\n)", docstring, re.M):
            assert found[2].strip() == ""


@every_class
def test_docstring_names_every_argument(path, node):
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


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("docstring", EXAMPLES)
def test_examples_run(docstring):
    scope = {**vars(keras.layers), "keras": keras, "ops": keras.ops, "np": np}
    for name in keras_attention.NAMES:
        if re.search(rf"\b{name}\b", docstring):
            scope[name] = getattr(keras_attention, name)
    test = doctest.DocTestParser().get_doctest(docstring, scope, "", None, 0)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=said.append)
    assert not said, "".join(said)


# Recipes: what is forgotten is named.


@pytest.mark.tensorflow
def test_every_format_is_in_the_readme():
    from keras_attention.export.formats import FORMATS

    for name in FORMATS:
        assert f'| `"{name}"`' in README


@pytest.mark.parametrize("name", ATTENTIONS + COMPOSED)
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
    assert set(GOLDEN) <= {*ATTENTIONS, *COMPOSED}
