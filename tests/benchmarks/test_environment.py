"""environment.py: the peer's environment, made once."""

import subprocess
import sys

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
