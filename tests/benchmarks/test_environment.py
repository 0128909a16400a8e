"""environment.py: the peer's environment, made once."""

import subprocess
import sys
from pathlib import Path

import environment
import pytest


@pytest.fixture
def commands(monkeypatch):
    """What would have been run."""
    ran = []

    def run(command, **_):
        ran.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(environment.subprocess, "run", run)
    monkeypatch.setattr(environment, "VERSION", sys.version_info[:2])
    return ran


def test_it_is_made_where_it_is_not_there(tmp_path, commands):
    folder = tmp_path / "tfa"
    folder.mkdir()
    python = environment.peer_python(folder)
    assert python == folder / "bin" / "python"
    make, install = commands
    assert make == [sys.executable, "-m", "venv", "--clear", str(folder)]
    assert install[:4] == [str(python), "-m", "pip", "install"]
    assert install[-3:] == list(environment.PACKAGES)


def test_it_is_made_once(tmp_path, commands):
    environment.peer_python(tmp_path)
    commands.clear()
    environment.peer_python(tmp_path)
    assert commands == []


def test_the_wrong_python_says_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "VERSION", (0, 0))
    monkeypatch.setattr(environment.shutil, "which", lambda _: None)
    with pytest.raises(SystemExit, match="--peer-environment"):
        environment.peer_python(tmp_path)


def test_the_peer_alone_has_an_environment_of_its_own(tmp_path, commands):
    assert environment.python_of("torch", tmp_path) == Path(sys.executable)
    assert commands == []
    python = environment.python_of("tfa", tmp_path)
    assert python == tmp_path / "bin" / "python"
