"""Train a translator from pairs of texts, as the command `train` does.

Reading the options does not import Keras, which is imported with the first of
the other names.
"""

import ast
import importlib.resources

# The table of names is the stub that editors read: name and file.
_STUB = importlib.resources.files(__name__) / "__init__.pyi"
NAMES = {
    alias.name: node.module
    for node in ast.parse(_STUB.read_text("utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(NAMES)


def __getattr__(name):
    """Import a public name when it is first used."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file = importlib.import_module(f".{NAMES[name]}", __name__)
    return getattr(file, name)


def __dir__():
    return __all__
