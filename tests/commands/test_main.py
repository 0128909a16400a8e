"""The command line: exit codes, and messages for people."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from shell import saved
from shell import shell

from keras_attention.commands import main
from keras_attention.commands import translate
from keras_attention.commands.arguments import COMMANDS
from keras_attention.commands.arguments import read_arguments
from keras_attention.export import formats
from keras_attention.recipe.options import METRICS

ROOT = Path(__file__).parents[2]


def test_an_error_is_a_line_and_not_a_trace(tmp_path):
    code, out, err = shell("show", tmp_path / "nothing")
    assert (code, out) == (1, "")
    missing = f"{tmp_path / 'nothing'}: No such file or directory"
    assert err == f"keras-attention show: error: {missing}\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["sing"],
        ["translate"],
        ["translate", ".", "--sing"],
        ["translate", ".", "--batch-size", "0"],
        ["translate", ".", "--batch-size", "1e3"],
        ["translate", ".", "--batch-size", str(2**31)],
        ["translate", ".", "--batch-size", "9" * 5000],
        ["score", ".", "--metrics", "bleu,mer"],
    ],
)
def test_wrong_arguments_are_told_from_errors(words, capsys):
    with pytest.raises(SystemExit) as error:
        main(words)
    assert error.value.code == 2
    command = words[0] + " " if len(words) > 1 else ""
    said = capsys.readouterr().err
    assert f"usage: keras-attention {command}" in said
    assert "_" not in said.rpartition("error:")[2]  # no names of our own


def test_what_can_be_chosen_is_all_there_is():
    from keras_attention.training import MODES

    assert set(METRICS) == set(MODES)


SCRIPT = """
import sys
sys.argv[0] = "/usr/bin/keras-attention"  # as pip writes it
from keras_attention.commands import main
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "start", [["-m", "keras_attention"], ["-c", SCRIPT]], ids=["-m", "script"]
)
@pytest.mark.parametrize(
    ("words", "code"),
    [(["--help"], 0), (["show"], 2), (["show", "nothing"], 1)],
)
def test_what_can_be_said_at_once_starts_no_backend(start, words, code):
    command = [sys.executable, "-X", "importtime", *start, *words]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == code
    imported = {x.rpartition("|")[2].strip() for x in ran.stderr.splitlines()}
    assert "keras_attention.commands.arguments" in imported
    assert not imported & {"keras", "numpy", "tensorflow"}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("TF_ENABLE_ONEDNN_OPTS", None, "1"),
        ("TF_ENABLE_ONEDNN_OPTS", "0", "0"),
        ("OMP_WAIT_POLICY", None, "PASSIVE"),
        ("OMP_WAIT_POLICY", "ACTIVE", "ACTIVE"),
    ],
)
def test_libraries_are_set_unless_told_otherwise(
    monkeypatch, name, before, after
):
    monkeypatch.setenv(name, before or "")
    if before is None:
        monkeypatch.delenv(name)
    assert main(["show", str(saved())]) == 0
    assert os.environ[name] == after


def test_the_commands_of_the_readme_are_understood():
    found = set()
    for page in ("README.md", "docs/reference/commands.md"):
        text = (ROOT / page).read_text()
        for line in re.findall(r"^python -m keras_attention (.*)$", text, re.M):
            words = re.split(" [<>]", line)[0].split()
            found.add(read_arguments(words).command)
    assert found == set(COMMANDS)


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt, 130), (BrokenPipeError, 141)]
)
def test_ends_quietly(monkeypatch, error, code):
    def end(_):
        raise error

    monkeypatch.setattr(translate, "run", end)
    assert shell("translate", ".") == (code, "", "")


@pytest.mark.slow
def test_runs_between_pipes():
    """In a process of its own: lines in order, and nobody reads on.

    Standard error is for messages of commands, but TensorFlow may write lines
    when it starts.
    """
    command = [sys.executable, "-m", "keras_attention", "translate", saved()]
    lines = b"".join(b"%d\n" % (i % 5) for i in range(5000))
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    ) as process:
        process.stdin.write(lines)
        process.stdin.close()
        rows = [process.stdout.readline() for _ in range(10)]
        process.stdout.close()
        err = process.stderr.read().decode()
        code = process.wait()
    assert rows[:5] == rows[5:]
    assert (code, err) == (141, "")


def test_bugs_keep_their_trace(monkeypatch):
    def fail(_):
        raise KeyError("x")

    monkeypatch.setattr(translate, "run", fail)
    with pytest.raises(KeyError):
        main(["translate", "."])


OWN = """
from keras_attention.export import ExportFormat, register_format


def export_sizes(path, model, source_tokenizer, target_tokenizer, search):
    with open(path, "w") as file:
        file.write(f"{source_tokenizer.vocabulary_size}")


register_format(ExportFormat("sizes", export_sizes))
"""


def test_files_of_the_user_are_imported_first(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "FORMATS", {**formats.FORMATS})
    own, out = tmp_path / "own_format.py", tmp_path / "x.sizes"
    own.write_text(OWN)
    words = "export", saved(), out, "--format", "sizes"
    code, _, err = shell(*words)
    assert (code, out.exists()) == (1, False)
    assert "'sizes'" in err
    assert shell(*words, "--import", own)[0] == 0
    assert out.read_text() == "9"
    own.write_text("1 / 0")
    code, _, err = shell(*words, "--import", own)
    assert code == 2
    assert "own_format.py, which raises ZeroDivisionError: division" in err
    code, _, err = shell(*words, "--import", tmp_path / "none.py")
    assert (code, "none.py: No such file" in err) == (1, True)
