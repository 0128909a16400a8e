"""The version: said once, and found by whoever asks."""

import ast
import configparser
import re
from pathlib import Path

import keras_attention
from keras_attention.version import __version__

ROOT = Path(__file__).parents[1]


def test_is_three_numbers():
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_is_the_packages():
    assert keras_attention.__version__ == __version__


def test_the_metadata_reads_it_without_an_import():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    wanted = "attr: keras_attention.version.__version__"
    assert config["metadata"]["version"] == wanted
    path = ROOT / "keras_attention" / "version.py"
    _, assignment = ast.parse(path.read_text()).body
    assert ast.literal_eval(assignment.value) == __version__


def test_the_changelog_has_it():
    assert __version__ in (ROOT / "CHANGELOG.md").read_text()
