import datetime
import re
import shlex
import shutil
import subprocess
import sys

import keras
import pytest
import translate_dates
from helpers import dates
from helpers.dates import LANGUAGES
from source import ROOT
from tiers import THOROUGH

if keras.backend.backend() == "tensorflow":
    from shell import shell

DATES = dates.all_dates(held_out=False)
HELD_OUT = dates.all_dates(held_out=True)
EVERY_FORM = [
    (name, form)
    for name, language in LANGUAGES.items()
    for form in language.forms.splitlines()
]


def write(text, language, form):
    date = datetime.date.fromisoformat(text)
    return dates.write(date, LANGUAGES[language], form)


def test_no_date_is_both_learned_and_held_out():
    assert not set(DATES) & set(HELD_OUT)
    together = sorted([*DATES, *HELD_OUT])
    assert together[0] == datetime.date(1970, 1, 1)
    assert together[-1] == datetime.date(2069, 12, 31)
    assert len(together) == 36525


def test_the_answer_is_the_date_that_was_written():
    sentences, wanted = pairs = dates.make_pairs(DATES[:500], seed=0)
    assert pairs == dates.make_pairs(DATES[:500], seed=0)
    assert pairs != dates.make_pairs(DATES[:500], seed=1)
    assert wanted == [date.isoformat() for date in DATES[:500]]
    for sentence, date in zip(sentences, DATES, strict=False):
        if re.search(r"\d{4}", sentence):
            assert str(date.year) in sentence


@pytest.mark.slow
def test_no_text_stands_for_two_dates():
    read = {}
    for date in [*DATES, *HELD_OUT]:
        if date.day > 12:  # day and month cannot be mistaken
            continue
        for name, form in EVERY_FORM:
            text = dates.write(date, LANGUAGES[name], form).lower()
            assert read.setdefault(text, date) == date


def changes():
    """What differs from the last commit, where that can be told."""
    if shutil.which("git") is None:
        return None
    command = ["git", "status", "--porcelain"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True)
    return None if found.returncode else found.stdout


def without_exports(translator, folder, file):
    """Write files that are none, and spare the time of those that are."""
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").touch()
    file.touch()


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("exports", [False, pytest.param(True, marks=THOROUGH)])
def test_it_runs_and_what_it_names_runs(tmp_path, capsys, monkeypatch, exports):
    monkeypatch.chdir(tmp_path)
    if not exports:
        monkeypatch.setattr(translate_dates, "export", without_exports)
    before = changes()
    share = translate_dates.main(quick=True)
    assert 0 <= share <= 1
    assert changes() == before  # no file of the repository is rewritten
    folder = tmp_path / "outputs" / "dates"
    assert (folder / "1" / "saved_model.pb").exists()
    assert (folder / "attention.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert ("A new process reads the same dates" in printed) == exports
    assert "\nPicture: outputs/dates/attention.png\n" in printed
    assert "\nSavedModel: outputs/dates/1\n" in printed
    start, outputs = [sys.executable, "-m", "keras_attention"], []
    for command in printed.partition("Try it:\n")[2].splitlines():
        words = shlex.split(command)
        assert words[:3] == start
        code, out, err = shell(*words[3:])
        assert (code, err) == (0, "")
        outputs.append(out)
    assert len(outputs[0].splitlines()) == len(translate_dates.SHOWN)
    assert "source: class CharacterTokenizer" in outputs[1]
