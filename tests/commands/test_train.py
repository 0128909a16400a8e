"""`train`: what a shell sees; `tests/recipe` has the training itself."""

import io
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from shell import shell

from keras_attention import recipe
from keras_attention.commands import arguments
from keras_attention.commands import main
from keras_attention.commands import train
from keras_attention.commands.train import Report
from keras_attention.commands.train_arguments import OPTIONS
from keras_attention.recipe import Recipe
from keras_attention.steps.primitives import NORMALIZATIONS
from keras_attention.training import MODES

pytestmark = [
    pytest.mark.filterwarnings(f"default:.*{x}")
    for x in ("are also in the training set", "in every epoch")
]
ROOT = Path(__file__).parents[2]
TABLE = [f"{a}{b}\t{b} {a}\tX;{a.upper()}\n" for a in "abc" for b in "dec"]


@pytest.fixture
def words(tmp_path):
    """The words of a command that trains for a second."""
    file = tmp_path / "table.tsv"
    file.write_text("".join(TABLE), encoding="utf-8")
    files = ["train", file, "--validation", file, "--output", tmp_path / "out"]
    return [*files, "--units", 4, "--epochs", 2]


def recipe_of(words, monkeypatch):
    """The recipe that a command trains by."""
    found = []
    monkeypatch.setattr(
        train, "train_translator", lambda *x, **more: found.append((*x, more))
    )
    code, _, err = shell(*words)
    assert (code, err) == (0, "")
    return found[0][3]


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_a_training_says_what_it_does(words, tmp_path):
    code, out, err = shell(*words, "--features", 2, "--beam-size", 2)
    assert code == 0
    assert "9 of 9 sources" in err
    *read, sizes, model, one, two, best, saved, following = out.splitlines()
    assert [line.rpartition(": ")[2][:7] for line in read] == 2 * ["9 pairs"]
    assert sizes == "Vocabulary: 9 source and 6 target tokens"
    assert model.endswith("Training: at most 2 epochs of 1 batches")
    assert [one[:12], two[:12]] == ["epoch 1 of 2", "epoch 2 of 2"]
    assert "  val_accuracy 0" in one
    assert best.startswith("Best epoch: ")
    folder = tmp_path / "out"
    assert saved == f"Translator: {folder}"
    assert following == f"Next: keras-attention translate {folder} FILE"
    assert (folder / "attention.png").exists()


def test_choices_are_names_of_what_there_is():
    wanted = {
        "attention": recipe.ATTENTIONS,
        "source_tokenizer": recipe.TOKENIZERS,
        "target_tokenizer": recipe.TOKENIZERS,
        "normalization": NORMALIZATIONS,
        "metric": MODES,
        "order": ("luong", "bahdanau"),
    }
    found = {x: y.metadata["choices"] for x, y in OPTIONS.items()}
    found = {x: {*y} for x, y in found.items() if y is not None}
    assert found == {x: {*y} for x, y in wanted.items()}


def test_the_page_and_the_docstring_list_the_options():
    rows = []
    for name, field in OPTIONS.items():
        about = field.metadata["about"]
        about, has_default, default = about.partition(" (default: ")
        default = default.removesuffix(")") if has_default else ""
        rows.append(f"| `--{name.replace('_', '-')}` | {about} | {default} |")
        assert f"{name}: {field.metadata['about']}" in Recipe.__doc__
    page = ROOT / "docs" / "train_command.md"
    assert "\n".join(rows) in page.read_text("utf-8"), "\n".join(rows)


@pytest.mark.parametrize(
    "more", [["--units", "0"], ["--attention", "dot"], ["--columns", "1"]]
)
def test_options_are_checked_before_keras_is_imported(more, tmp_path):
    code = (
        "import sys\n"
        "from keras_attention.commands import main\n"
        "try:\n"
        "    code = main()\n"
        "except SystemExit as error:\n"
        "    code = error.code\n"
        "heavy = {'keras', 'tensorflow', 'jax', 'torch'} & {*sys.modules}\n"
        "print(code, heavy)\n"
    )
    file = tmp_path / "table.tsv"
    file.write_text("a\tb\n")
    words = ["train", file, "--validation", file, "-o", tmp_path / "o", *more]
    # The package asks for the script before it imports what needs Keras.
    (tmp_path / "keras-attention").write_text(code)
    found = subprocess.run(
        [sys.executable, tmp_path / "keras-attention", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert found.stdout == "2 set()\n", found.stderr


@pytest.mark.parametrize("columns", [["1,0"], ["1", "0"]])
def test_options_are_those_of_the_recipe(words, columns, monkeypatch):
    more = ["--target-tokenizer", "symbol", "--rate", "1e-2"]
    found = recipe_of([*words, *more, "--columns", *columns], monkeypatch)
    known = {"units": 4, "epochs": 2, "target_tokenizer": "symbol"}
    assert found == Recipe(**known, rate=0.01, columns=(1, 0))


def test_a_file_has_the_same_options_and_the_command_line_wins(
    words, tmp_path, monkeypatch
):
    file = tmp_path / "recipe.toml"
    given = Recipe(layers=2, columns=(1, 0), metric="wer", lowercase=True)
    file.write_text(given.to_toml())
    found = recipe_of([*words, "--config", file], monkeypatch)
    assert asdict(found) == {**asdict(given), "units": 4, "epochs": 2}
    file.write_text("beam-size = 3\nseed = 4\n")
    found = recipe_of([*words, "--config", file, "--seed", 7], monkeypatch)
    assert (found.beam_size, found.seed) == (3, 7)
    file.write_text('columns = "1, 0"\n')
    found = recipe_of([*words, "--config", file], monkeypatch)
    assert found.columns == (1, 0)


def test_fine_tuning_takes_the_options_of_the_old_recipe(
    words, tmp_path, monkeypatch
):
    folder = tmp_path / "old"
    folder.mkdir()
    old = Recipe(layers=2, units=8, target_tokenizer="symbol", epochs=7)
    (folder / "recipe.toml").write_text(old.to_toml())
    more = ["--init", folder, "--units", 6]
    found = recipe_of([*words, *more], monkeypatch)
    known = {"layers": 2, "target_tokenizer": "symbol"}
    assert found == Recipe(units=6, epochs=2, **known)
    found = []
    monkeypatch.setattr(
        train, "train_translator", lambda *x, **more: found.append((*x, more))
    )
    shell(*words, *more)
    assert found[0][-1]["init"] == folder
    code, _, err = shell(*words, "--init", tmp_path / "missing")
    assert (code, "missing: No such file" in err) == (1, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unit = 3", "'unit' is not one of header, "),
        ("beam-size = 3\nbeam_size = 4", "'beam_size' appears twice"),
        ("units", "recipe.toml: "),
        (Path("/dev/zero"), "recipe.toml: "),
        (None, "recipe.toml: "),
    ],
)
def test_another_file_of_options_is_a_wrong_argument(
    words, text, message, tmp_path, capsys
):
    file = tmp_path / "recipe.toml"
    if isinstance(text, Path):  # which never ends
        file.symlink_to(text)
    elif text is not None:
        file.write_text(text)
    with pytest.raises(SystemExit) as error:
        main([*map(str, words), "--config", str(file)])
    assert error.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--columns", "0,7"], "table.tsv:1"),
        (["--validation", "missing.tsv"], "missing.tsv: No such file"),
        (["--validation", *3 * [__file__]], "3 files"),
        (["--output", Path(__file__).parent], "already contains"),
        (["--output", __file__], "already contains"),
    ],
)
def test_errors_are_a_line(words, more, message):
    code, out, err = shell(*words, *more)
    assert (code, out) == (1, "")
    *warned, line = err.splitlines()
    assert all("in the training set" in x for x in warned)
    assert line.startswith("keras-attention train: error: ")
    assert message in line


def test_a_folder_that_cannot_be_made_is_told_at_once(words):
    code, out, err = shell(*words, "--output", Path(__file__) / "out")
    assert (code, out) == (2, "")
    assert "must be a writable folder" in err


def test_who_interrupts_learns_how_to_resume(words, monkeypatch):
    def train_translator(*_, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "train_translator", train_translator)
    code, _, err = shell(*words)
    assert code == 130
    assert (
        err == "\nInterrupted. Run the same command to resume the training.\n"
    )


def test_the_examples_of_the_help_are_understood():
    for line in arguments.EXAMPLES["train"].splitlines()[1:]:
        program, *words = line.split()
        given = arguments.read_arguments(words)
        assert (program, given.command) == (arguments.PROGRAM, "train")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--columns", "x"], "columns='x'"),
        (["--columns", "1"], "must be two"),
        (["--features", 1], "zero-based"),
        (["--units", 0], "units=0"),
        (["--dropout", 1.5], "dropout=1.5"),
    ],
)
def test_values_out_of_range_are_wrong_arguments(words, more, message):
    code, out, err = shell(*words, *more)
    assert (code, out) == (2, "")
    assert message in err


def test_a_wrong_choice_is_a_wrong_argument(words, capsys):
    with pytest.raises(SystemExit) as error:
        main([*map(str, words), "--attention", "dot"])
    assert error.value.code == 2
    assert "invalid choice: 'dot'" in capsys.readouterr().err


def test_quiet_is_no_other_training(words, monkeypatch, capsys):
    """It has the same callbacks, so that each resumes the other."""
    found = []
    monkeypatch.setattr(
        train, "train_translator", lambda *x, **more: found.append((*x, more))
    )
    for more in ([], ["--quiet"]):
        code, out, err = shell(*words, *more)
        assert (code, err, bool(out)) == (0, "", not more)
    (*_, loud, say, _), (*_, quiet, hush, _) = found
    assert [*map(type, loud)] == [*map(type, quiet)] == [Report]
    hush("a line")
    (report,) = quiet
    report.set_params({"steps": 40, "epochs": 3})
    report.on_epoch_begin(0)
    for batch in range(40):
        report.on_train_batch_end(batch)
    report.on_epoch_end(0, {"loss": 1.0})
    assert capsys.readouterr() == ("", "")
    say("a line")
    assert capsys.readouterr().out == "a line\n"


def test_an_epoch_is_estimated_once(capsys):
    report = Report()
    report.set_params({"steps": 40, "epochs": 3})
    for epoch in range(2):
        report.on_epoch_begin(epoch)
        for batch in range(40):
            report.on_train_batch_end(batch)
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "About 0 s per epoch, without validation"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_a_terminal_sees_a_bar_until_the_epoch_ends(kind, monkeypatch, capsys):
    screen = kind()
    monkeypatch.setattr(sys, "stderr", screen)
    report = Report()
    report.set_params({"steps": 4, "epochs": 3})
    report.on_epoch_begin(0)
    for batch in range(4):
        report.on_train_batch_end(batch)
    shown = screen.getvalue()
    report.on_epoch_end(1, {"loss": 0.123456})
    assert capsys.readouterr().out == "epoch 2 of 3  loss 0.1235\n"
    assert screen.getvalue() == shown
    if kind is Terminal:
        *bars, last = shown.split("\r\x1b[K")[1:]
        assert [bar.count("#") for bar in bars] == [7, 15, 22]
        assert {len(bar) for bar in bars} == {len(bars[0])}
        assert bars[0].endswith("1 of 4")
        assert last == ""
    else:
        assert shown == ""
