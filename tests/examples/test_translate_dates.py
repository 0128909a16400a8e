import datetime
import re
import shlex
import shutil
import subprocess
import sys

import dates
import keras
import pytest
import translate_dates
from dates import LANGUAGES
from source import ROOT

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


def test_all_sorts_of_dates_are_held_out():
    assert 0.09 < len(HELD_OUT) / 36525 < 0.11
    for part, kinds in (("day", 31), ("month", 12), ("year", 100)):
        assert len({getattr(date, part) for date in HELD_OUT}) == kinds
    assert len({date.weekday() for date in HELD_OUT}) == 7


def test_every_language_and_form_is_written():
    every = dates.make_pairs(DATES[:1] * 2000, seed=0)[0]
    wanted = {write("1970-01-01", *form) for form in EVERY_FORM}
    assert set(every) == wanted
    assert {"English", "Korean", "German"} <= set(LANGUAGES)
    for language in LANGUAGES.values():
        assert len(set(language.weekdays.split())) == 7
        assert len(set(language.months.split())) in (0, 12)


def test_the_answer_is_the_date_that_was_written():
    sentences, wanted = pairs = dates.make_pairs(DATES[:500], seed=0)
    assert pairs == dates.make_pairs(DATES[:500], seed=0)
    assert pairs != dates.make_pairs(DATES[:500], seed=1)
    assert wanted == [date.isoformat() for date in DATES[:500]]
    for sentence, date in zip(sentences, DATES, strict=False):
        if re.search(r"\d{4}", sentence):
            assert str(date.year) in sentence


def test_weekdays_are_right():
    for date, names in {
        "2021-03-03": "Wednesday Mittwoch mercredi miércoles 수요일 水曜日",
        "2024-02-29": "Thursday Donnerstag jeudi jueves 목요일 木曜日",
        "1970-01-04": "Sunday Sonntag dimanche domingo 일요일 日曜日",
    }.items():
        for language, name in zip(LANGUAGES, names.split(), strict=False):
            assert write(date, language, "{weekday}") == name


@pytest.mark.parametrize(
    ("date", "language", "form", "wanted"),
    [
        ("2021-03-01", "English", "{d}{th}", "1st"),
        ("2021-03-11", "English", "{d}{th}", "11th"),
        ("2021-03-22", "English", "{d}{th}", "22nd"),
        ("2021-03-13", "English", "{d}{th}", "13th"),
        ("2021-03-01", "French", "le {d}{er} {month}", "le 1er mars"),
        ("2021-03-02", "French", "le {d}{er} {month}", "le 2 mars"),
        ("2005-10-20", "Chinese", "{han_y}年{han_d}", "二〇〇五年二十"),
        ("2021-12-31", "Chinese", "{han_m}月{han_d}", "十二月三十一"),
        ("2005-03-03", "German", "{weekday:.2} {d}.{m}.{yy:02}", "Do 3.3.05"),
    ],
)
def test_forms_are_filled_in(date, language, form, wanted):
    assert write(date, language, form) == wanted


@pytest.mark.slow
def test_no_text_stands_for_two_dates():
    read = {}
    for date in [*DATES, *HELD_OUT]:
        if date.day > 12:  # day and month cannot be mistaken
            continue
        for name, form in EVERY_FORM:
            text = dates.write(date, LANGUAGES[name], form).lower()
            assert read.setdefault(text, date) == date


def test_what_is_shown_is_written_of_a_date_that_is_held_out():
    date = datetime.date(2024, 2, 29)
    assert date in HELD_OUT
    every = {write(str(date), *form) for form in EVERY_FORM}
    assert set(translate_dates.SHOWN) <= every


def without_exports(translator, folder, file):
    """Write files that are none, and spare the time of those that are."""
    folder.mkdir(parents=True)
    file.touch()


@pytest.mark.slow
@pytest.mark.tensorflow
def test_it_runs_and_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(translate_dates, "export", without_exports)
    assert 0 <= translate_dates.main(quick=True) <= 1
    folder = tmp_path / "outputs" / "dates"
    picture = folder / "attention.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "256 dates to learn, 256 held out" in printed
    asked = printed.partition("Try it:\n")[2].splitlines()
    start, outputs = [sys.executable, "-m", "keras_attention"], []
    for command in asked:
        words = shlex.split(command)
        assert words[:3] == start
        code, out, err = shell(*words[3:])
        assert (code, err) == (0, "")
        outputs.append(out)
    assert len(outputs[0].splitlines()) == len(translate_dates.SHOWN)
    assert "source: class CharacterTokenizer" in outputs[1]
    assert (folder / "small.tflite").exists()


def changes():
    """What differs from the last commit, where that can be told."""
    if shutil.which("git") is None:
        return None
    command = ["git", "status", "--porcelain"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True)
    return None if found.returncode else found.stdout


@pytest.mark.thorough
@pytest.mark.tensorflow
def test_it_runs_and_says_where_its_files_are(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = changes()
    share = translate_dates.main(quick=True)
    assert 0 <= share <= 1
    assert changes() == before  # no file of the repository is rewritten
    folder = tmp_path / "outputs" / "dates"
    assert (folder / "1" / "saved_model.pb").exists()
    assert (folder / "translator.tflite").exists()
    assert (folder / "attention.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "A new process reads the same dates" in printed
    assert "\nPicture: outputs/dates/attention.png\n" in printed
    assert "\nSavedModel: outputs/dates/1\n" in printed
    assert "\nLiteRT: outputs/dates/translator.tflite, " in printed
