"""The whole of it as users run it: a shell trains, another one translates."""

import subprocess
import sys
from pathlib import Path

import pytest

from keras_attention.commands import main

ROOT = Path(__file__).parents[1]


@pytest.mark.filterwarnings("ignore:.*are also in the training set")
def test_a_shell_trains_what_another_one_translates_with(tmp_path, capsys):
    words = [f"{a}{b}" for a in "abcd" for b in "abcd"]
    table, folder = tmp_path / "table.tsv", tmp_path / "model"
    table.write_text("".join(f"{w}\t{w[::-1]}\n" for w in words))
    options = ["--units", "16", "--epochs", "40", "--rate", "0.02"]
    files = ["--validation", table, "--output", folder]
    command = ["train", table, *files, *options]
    assert main([str(x) for x in command]) == 0
    *lines, saved, following = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("epoch ") for line in lines) == 40
    assert saved == f"Translator: {folder}"
    assert main([str(x) for x in command]) == 0
    trained, *last = capsys.readouterr().out.splitlines()
    assert "is already trained" in trained
    assert last == [saved, following]
    done = subprocess.run(
        [sys.executable, "-m", "keras_attention", "translate", folder],
        input="".join(f"{w}\n" for w in words),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    right = [w[::-1] for w in words]
    found = done.stdout.split()
    same = [x == y for x, y in zip(found, right, strict=True)]
    assert sum(same) > 0.8 * len(words)
