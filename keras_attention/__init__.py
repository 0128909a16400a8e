"""Attention for recurrent encoder-decoders, as serializable Keras 3 layers."""

import ast
import importlib.resources
import importlib.util
import pathlib
import sys

from .version import __version__ as __version__

# The table of public names is the stub that editors read: name and room.
_STUB = importlib.resources.files(__name__) / "__init__.pyi"
NAMES = {
    alias.name: node.module
    for node in ast.parse(_STUB.read_text("utf-8")).body
    if isinstance(node, ast.ImportFrom) and node.module != "version"
    for alias in node.names
}
LATE = "export"  # imports TensorFlow, where it is there

__all__ = sorted(NAMES)
if importlib.util.find_spec("tensorflow") is None:
    for name in ("export_model", "export_stream"):  # a star would ask for them
        __all__.remove(name)


def import_rooms():
    """Import what has classes that a file names, or Keras knows them not.

    And streams, which register themselves for `Seq2Seq.stream`.
    """
    for room in [*dict.fromkeys(NAMES.values()), "streaming"]:
        if room != LATE:
            importlib.import_module(f".{room}", __name__)
    tokenizers = importlib.import_module(".text.base", __name__)
    tokenizers.find_forms_by(
        lambda: importlib.import_module(f".{LATE}", __name__).TensorTokenizer
    )


def is_command(argv: list[str], whole: list[str]) -> bool:
    """Return whether a process runs the command line, which imports later.

    Args:
        argv: `sys.argv`; its first word is `-m` while Python looks for the
            module that it shall run.
        whole: `sys.orig_argv`.
    """
    program = argv[0] if argv else ""
    if program == "-m":
        return whole[-len(argv)].endswith(__name__)
    return pathlib.Path(program).stem == "keras-attention"


if not is_command(sys.argv, sys.orig_argv):
    import_rooms()


def __getattr__(name):
    """Take a public name out of its room, imported when first asked for."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module(f".{NAMES[name]}", __name__)
    if not hasattr(room, name):
        raise ImportError(
            f"keras_attention.{name} needs TensorFlow, which is not installed. "
            "All but exports runs without it. Install "
            'it with: pip install "keras-rnn-attention[tensorflow]"'
        )
    return getattr(room, name)


def __dir__():
    return [*__all__, "__version__"]
