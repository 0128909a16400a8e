"""extras: optional packages are found, or the error says what to install."""

import ast
import configparser
import re
import sys
from pathlib import Path

import pytest

from keras_attention.extras import require

ROOT = Path(__file__).parents[1]


def test_gives_the_module():
    assert require("json.decoder", "text", "WordTokenizer").JSONDecoder


@pytest.mark.parametrize("module", ["no_such_module", "no_such_module.inner"])
def test_names_the_extra(module):
    message = (
        "plot_attention needs `no_such_module`, which is not installed. "
        'Install it with: pip install "keras-rnn-attention[plots]"'
    )
    with pytest.raises(ImportError, match=re.escape(message)):
        require(module, "plots", "plot_attention")


def test_names_what_is_missing_further_down(tmp_path, monkeypatch):
    (tmp_path / "needs_another.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="needs `no_such_module`"):
        require("needs_another", "plots", "plot_attention")
    assert "needs_another" not in sys.modules


def test_an_error_inside_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "broken_inside.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ZeroDivisionError):
        require("broken_inside", "plots", "plot_attention")


def test_every_extra_that_is_named_exists():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    named = {
        node.args[1].value
        for path in (ROOT / "keras_attention").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", None) == "require"
    }
    assert named
    assert named <= set(config["options.extras_require"])


def test_a_package_for_a_newer_protobuf_says_so(monkeypatch, tmp_path):
    (tmp_path / "made_later.py").write_text(
        "class VersionError(Exception): pass\n"
        "raise VersionError('gencode 7.36.1 runtime 6.33.0.')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="pip install --upgrade protobuf"):
        require("made_later", "text", "SentencePieceTokenizer")
