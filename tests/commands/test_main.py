"""The command line: exit codes, and messages for people."""

import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from shell import saved
    from shell import shell

    from keras_attention import __version__
    from keras_attention.commands import export
    from keras_attention.commands import main
    from keras_attention.commands import score
    from keras_attention.commands import show
    from keras_attention.commands import translate


def test_an_error_is_a_line_and_not_a_trace(tmp_path):
    code, out, err = shell("show", tmp_path / "nothing")
    assert (code, out) == (1, "")
    assert err.startswith("keras-attention: error: ")
    assert str(tmp_path / "nothing") in err


@pytest.mark.parametrize("words", [[], ["sing"], ["translate"]])
def test_wrong_arguments_are_told_from_errors(words, capsys):
    with pytest.raises(SystemExit) as error:
        main(words)
    assert error.value.code == 2
    assert "usage: keras-attention" in capsys.readouterr().err


def test_says_its_version_and_its_commands(capsys):
    for word in ("--version", "--help"):
        with pytest.raises(SystemExit) as error:
            main([word])
        assert error.value.code == 0
    said = capsys.readouterr().out
    assert f"keras-attention {__version__}" in said
    for command in ("translate", "export", "score", "show"):
        assert command in said


def test_the_commands_of_the_readme_are_understood(monkeypatch):
    text = (Path(__file__).parents[2] / "README.md").read_text()
    lines = re.findall(r"^python -m keras_attention (.*)$", text, re.M)
    ran = []
    for command in (translate, export, score, show):
        monkeypatch.setattr(command, "run", ran.append)
    for line in lines:
        words = line.partition(" <")[0].split()
        assert shell(*words) == (0, "", "")
    assert {x.command for x in ran} == {"translate", "export", "score", "show"}


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt, 130), (BrokenPipeError, 141)]
)
def test_ends_quietly(monkeypatch, error, code):
    def end(_):
        raise error

    monkeypatch.setattr(translate, "run", end)
    assert shell("translate", "folder") == (code, "", "")


def test_bugs_keep_their_trace(monkeypatch):
    def fail(_):
        raise KeyError("x")

    monkeypatch.setattr(translate, "run", fail)
    with pytest.raises(KeyError):
        main(["translate", "folder"])


@pytest.mark.slow
def test_runs_between_pipes():
    """In a process of its own: lines in order, and nobody reads on."""
    command = [sys.executable, "-m", "keras_attention", "translate", saved()]
    lines = b"".join(b"%d\n" % (i % 5) for i in range(5000))
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        process.stdin.write(lines)
        process.stdin.close()
        rows = [process.stdout.readline() for _ in range(10)]
        process.stdout.close()
        err = process.stderr.read().decode()
        code = process.wait()
    assert rows[:5] == rows[5:]
    assert code == 141
    assert "Traceback" not in err
    assert "BrokenPipe" not in err
