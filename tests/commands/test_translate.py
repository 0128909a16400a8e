"""`translate`: what the translator says, a line for each line."""

import codecs
import io
import itertools
import sys
import warnings

import numpy as np
import pytest
from shell import load
from shell import saved
from shell import saved_list
from shell import shell
from tiers import SLOW
from tiers import some

from keras_attention import BeamSearch
from keras_attention import Translator
from keras_attention.commands.lines import parts
from keras_attention.commands.lines import pharaoh
from keras_attention.commands.lines import progress
from keras_attention.commands.main import main

LINES = ["0123", "4", "431", "22", "10", "3"]
TEXT = "".join(f"{x}\n" for x in LINES).encode()


def translator(beams=1, **options):
    loaded = load(str(saved(beams)))
    if options:
        config = {**loaded.search.get_config(), **options}
        search = BeamSearch.from_config(config)
        sides = loaded.source_tokenizer, loaded.target_tokenizer
        loaded = Translator(loaded.model, *sides, search)
    return loaded


def test_writes_a_line_for_each_line():
    code, out, err = shell("translate", saved(), given=TEXT)
    assert (code, err) == (0, "")
    assert out.split("\n") == [*translator()(LINES), ""]


def test_options_may_stand_between_folder_and_file(tmp_path):
    file = tmp_path / "new.txt"
    file.write_bytes(TEXT)
    given = shell("translate", saved(), "--scores", file)
    assert given == shell("translate", saved(), "--scores", given=TEXT)
    assert given[0] == 0


@pytest.mark.filterwarnings("default:The model does not know")
def test_unknown_tokens_are_told_once(tmp_path):
    given, out = "01\n\nx1\n1yéx\n".encode(), tmp_path / "out"
    words = "translate", saved(), "--batch-size", 1
    code, text, err = shell(*words, given=given)
    assert (code, len(text.splitlines())) == (0, 4)
    (line,) = err.splitlines()
    assert "does not know 'x', 'y', 'é'. " in line
    assert "tokens: 2. The first is line 3." in line
    words = "translate", saved(), "--unknown", "ignore"
    assert shell(*words, given=given) == (0, text, "")
    words = "translate", saved(), "--unknown", "error", "-o", out
    code, text, err = shell(*words, given=given)
    assert (code, text, out.exists()) == (1, "", False)
    assert "line 3." in err


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_names_the_stream_that_is_closed(monkeypatch, capsys, name):
    monkeypatch.setattr(sys, name, None)
    assert main(["translate", str(saved())]) == 1
    assert f"{name}, which is closed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        TEXT[:-1],
        TEXT.replace(b"\n", b"\r\n"),
        b"\xff\n",
        codecs.BOM_UTF8 + TEXT,
    ],
)
@pytest.mark.filterwarnings("ignore:The model does not know '�'")
def test_reads_what_others_write(given):
    code, out, _ = shell("translate", saved(), given=given)
    lines = given.decode("utf-8-sig", "replace").splitlines()
    assert code == 0
    assert out.splitlines() == translator()(lines)


@pytest.mark.usefixtures("without_graphs")
def test_another_search_keeps_the_shortlist():
    words = "translate", saved_list(), "--beam-size", 2
    code, out, _ = shell(*words, given=TEXT)
    assert code == 0
    assert set(out) <= {"0", "1", "\n"}
    assert not {*"".join(translator()(LINES))} <= {"0", "1"}


@pytest.mark.parametrize(
    "options", some([["--n-best", 2], ["--scores"], []], 1, SLOW)
)
def test_blank_lines_stay_blank(options):
    """And run through no model, which finds some text for them."""
    blank = ["", " \t", "\u3000", ""]
    lines = blank[:1] + LINES[:2] + blank[1:] + LINES[2:]
    given = "".join(f"{x}\n" for x in lines).encode()
    words = "translate", saved(2), *options
    rows = shell(*words, given=given)[1].split("\n")[:-1]
    n = 2 if "--n-best" in options else 1
    assert len(rows) == n * len(lines)
    nothing = ["\t0.000000" if "--scores" in options else ""]
    found = {x: rows[n * i : n * i + n] for i, x in enumerate(lines)}
    assert all(found[x] == n * nothing for x in blank)
    full = shell(*words, given=TEXT)[1].split("\n")[:-1]
    assert [row for x in LINES for row in found[x]] == full
    assert shell(*words, given=b"\n\n") == (0, 2 * n * f"{nothing[0]}\n", "")


def test_reads_a_file_and_writes_one(tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "new" / "out.txt"
    source.write_bytes(TEXT)
    wanted = shell("translate", saved(), given=TEXT)[1]
    assert shell("translate", saved(), source) == (0, wanted, "")
    words = "translate", saved(), source, "-o", target
    assert shell(*words, given=b"9\n") == (0, "", "")
    assert target.read_text() == wanted
    assert shell(*words[:2], "-", *words[3:], given=b"\n") == (0, "", "")
    assert target.read_text() == "\n"


@pytest.mark.parametrize("missing", ["in.txt", "."])
def test_files_that_cannot_be_read_are_named(tmp_path, missing):
    code, out, err = shell("translate", saved(), tmp_path / missing)
    assert (code, out) == (1, "")
    said = "Is a directory" if missing == "." else "No such file or directory"
    path = tmp_path / missing
    assert err == f"keras-attention translate: error: {path}: {said}\n"


def test_is_the_same_in_small_parts(monkeypatch):
    monkeypatch.setattr("keras_attention.commands.lines.BATCHES", 1)
    words = "translate", saved(), "--batch-size", 2
    assert shell(*words, given=TEXT)[1].splitlines() == translator()(LINES)


@pytest.mark.usefixtures("without_graphs")
def test_adds_scores_and_alignments():
    words = "translate", saved(), "--scores", "--alignments"
    rows = shell(*words, given=TEXT)[1].split("\n")[:-1]
    found = translator()(LINES, True, True)
    for i, row in enumerate(rows):
        text, score, links = row.split("\t")
        assert text == found.texts[i]
        assert float(score) == pytest.approx(found.scores[i], abs=1e-6)
        for link in links.split():
            column, step = map(int, link.split("-"))
            weights = found.attention[i][step, 1:-1]
            assert weights.argmax() == column


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("beams", [1, 2])
def test_scores_of_tokens_add_up_to_that_of_the_text(beams):
    words = "translate", saved(beams), "--scores", "--token-scores"
    rows = shell(*words, "--n-best", beams, given=TEXT)[1].splitlines()
    assert len(rows) == beams * len(LINES)
    for row in rows:
        text, score, tokens = row.split("\t")
        gains = [float(x) for x in tokens.split(" ")]
        assert len(gains) in (len(text), len(text) + 1)  # with its end
        assert abs(sum(gains) - float(score)) < 1e-5


def test_wrong_options_are_errors():
    words = "--beam-size", 2, "--n-best", 3
    code, out, err = shell("translate", saved(), *words, given=TEXT)
    assert (code, out) == (2, "")
    assert "Received: " in err


@pytest.mark.usefixtures("without_graphs")
def test_warnings_tell_lines(monkeypatch):
    loaded = translator()
    sides = loaded.source_tokenizer, loaded.target_tokenizer
    short = Translator(loaded.model, *sides, loaded.search, max_source_length=4)
    monkeypatch.setattr("shell.load", lambda _: short)
    monkeypatch.setattr("keras_attention.commands.lines.BATCHES", 1)
    words = "translate", saved(), "--batch-size", 2
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, out, err = shell(*words, given=TEXT)
    assert code == 0
    assert len(out.splitlines()) == len(LINES)
    assert "warning: Lines 3 to 4: Translator truncates 1 of 2" in err


def test_parts_are_small_and_complete():
    lines = [b"%d\n" % i for i in range(200)]
    found = list(parts(iter(lines), 2))
    assert [len(part) for part in found] == [64, 64, 64, 8]
    assert [*itertools.chain(*found)] == [x[:-1] for x in lines]
    long = [b"x" * 2**21 + b"\n"] * 5
    assert [len(part) for part in parts(iter(long), 2)] == [2, 2, 1]


class Terminal(io.BytesIO):
    def isatty(self):
        return True


def test_a_terminal_is_answered_at_once():
    typed = Terminal(b"1\n2\n")
    assert next(parts(typed, 8)) == [b"1"]
    assert typed.tell() <= 4
    assert list(parts(Terminal(b"1\n2\n"), 8)) == [[b"1"], [b"2"]]


@pytest.mark.parametrize("seen", [True, False])
def test_progress_is_counted_on_a_terminal(monkeypatch, seen):
    screen = io.StringIO()
    screen.isatty = lambda: seen
    monkeypatch.setattr(sys, "stderr", screen)
    with progress("sentences") as show:
        for count in (32, 64, 70):
            show(count)
    said = screen.getvalue()
    assert said.startswith("\r32 sentences, ") == seen
    assert said.split("\r")[-1].startswith("70 sentences, ") == seen
    assert said.endswith("\n") == seen


def test_alignments_leave_out_start_end_and_nothing():
    weights = np.array([[0.9, 0.1, 0, 0], [0, 0, 0.7, 0.3], [0, 0, 0, 1.0]])
    source, target = ["<s>", "a", "b", "</s>"], ["x", "y", "</s>"]
    assert pharaoh(weights, source, target) == "0-0 1-1"
    weights[0] = [1, 0, 0, 0]
    assert pharaoh(weights, source, target) == "1-1"
    assert pharaoh(None, source, target) == ""
    assert pharaoh(weights[2:], ["<s>", "</s>"], ["</s>"]) == ""


@pytest.mark.usefixtures("without_graphs")
def test_takes_options_of_the_search():
    options = {"beam_size": 3, "length_penalty": 0.6, "max_length": 4}
    words = [f"--{k.replace('_', '-')}={v}" for k, v in options.items()]
    rows = shell("translate", saved(2), *words, given=TEXT)[1].splitlines()
    assert rows == translator(2, **options)(LINES)
