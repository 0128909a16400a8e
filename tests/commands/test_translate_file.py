"""`translate FILE`: exported files, those of text without TensorFlow."""

import shutil
import subprocess
import sys

import pytest
from shell import load
from shell import saved
from shell import shell
from source import ROOT

from keras_attention import BeamSearch
from keras_attention import Translator
from keras_attention.commands import translate_file
from keras_attention.commands.lines import NOTHING
from keras_attention.translation import Translation

WORDS = ROOT / "saved_models" / "pronounce_en" / "pronounce.onnx"
DATES = ROOT / "saved_models" / "dates" / "translator.tflite"
MORE = "translations", "scores", "token_scores", "attention"


@pytest.mark.parametrize(
    ("file", "word", "said"),
    [(WORDS, b"cat", b"K AE1 T"), (DATES, b"12 May 2021", b"2021-05-12")],
)
def test_a_word_needs_neither_keras_nor_tensorflow(file, word, said):
    program = (
        "import sys; sys.argv[0] = 'keras-attention'\n"
        "from keras_attention.commands import main\n"
        f"code = main(['translate', {str(file)!r}])\n"
        "assert not {'keras', 'tensorflow', 'jax', 'torch'} & {*sys.modules}\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=word + b"\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (done.stdout, done.stderr) == (said + b"\n", b"")


def test_lines_keep_their_order():
    lines = b"attention\ncat\n\ndogs\na\n"
    outputs = [
        shell("translate", WORDS, "--batch-size", size, given=lines)
        for size in (1, 2, 32)
    ]
    assert len({*outputs}) == 1
    code, out, err = outputs[0]
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == ["AH0 T EH1 N SH AH0 N", "K AE1 T", ""]
    assert len(out.splitlines()) == 5


def test_scores_and_alignments_come_from_the_file():
    words = "--scores", "--token-scores", "--alignments"
    code, out, _ = shell("translate", WORDS, *words, given=b"cat\n")
    text, score, scores, links = out.rstrip("\n").split("\t")
    assert (code, text) == (0, "K AE1 T")
    assert float(score) < 0
    assert len(scores.split()) == len("K AE1 T </s>".split())
    assert links.split()[0] == "0-0"


def test_files_of_ids_use_the_tokenizers_in_them(monkeypatch):
    given = "12 May 2021\nle 29 février 2024\n".encode()
    code, out, _ = shell("translate", DATES, given=given)
    assert (code, out) == (0, "2021-05-12\n2024-02-29\n")
    code, out, _ = shell("translate", DATES, "--scores", given=given)
    assert [x.count("\t") for x in out.splitlines()] == [1, 1]
    monkeypatch.setattr(translate_file, "read_json", lambda _: None)
    assert shell("translate", DATES, "--scores", given=given)[1] == out


@pytest.mark.filterwarnings("default:The model does not know")
def test_unknown_characters_are_told():
    given = "cat\ncaf\u00e9\n".encode()
    _, out, err = shell("translate", WORDS, given=given)
    assert len(out.splitlines()) == 2
    assert "does not know '\u00e9'" in err
    assert "line 2" in err
    words = "translate", WORDS, "--unknown"
    assert shell(*words, "error", given=given)[0] == 1  # a text, no option
    assert shell(*words, "ignore", given=given)[2] == ""


@pytest.mark.parametrize(
    ("file", "words", "message"),
    [
        (WORDS, ("--beam-size", "2"), "`--beam-size` is fixed.*beam-size=2"),
        (WORDS, ("--length-penalty", "1"), "`--length-penalty` is fixed"),
        (WORDS, ("--max-length", "9"), "`--max-length` is fixed"),
        (
            WORDS,
            ("--n-best", "9"),
            "`--n-best` must be at most 1 for this file",
        ),
        (DATES, ("--alignments",), "`--alignments` needs .* output attention"),
        (
            DATES,
            ("--token-scores",),
            "needs a file with the output token_scores",
        ),
    ],
)
def test_what_a_file_cannot_do_is_named(file, words, message):
    code, out, err = shell("translate", file, *words, given=b"1\n")
    assert (code, out) == (2, "")
    assert pytest.raises(ValueError, match=message).matches(ValueError(err))


def test_damaged_files_are_named(tmp_path):
    file = tmp_path / "x.onnx"
    shutil.copy(WORDS, file)
    with file.open("r+b") as opened:
        opened.seek(1000)
        opened.write(b"damage")
    code, _, err = shell("translate", file, given=b"cat\n")
    assert code == 1
    assert "x.onnx, which cannot be used" in err


def test_an_entry_is_like_a_translation():
    assert NOTHING._fields == Translation._fields


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "format"),
    [("x.onnx", "onnx_text"), ("x.onnx", "onnx"), ("x.tflite", "litert")],
)
def test_a_file_says_what_the_translator_says(name, format, tmp_path):
    whole = load(str(saved(3)))
    parts = whole.model, whole.source_tokenizer, whole.target_tokenizer
    options = {**whole.search.get_config(), "n_best": 2}
    translator = Translator(*parts, BeamSearch.from_config(options))
    translator.export(tmp_path / name, format, outputs=MORE)
    given = b"0123\n4\n\n431\n22\n"
    for best in ("1", "2"):
        words = "--n-best", best, "--scores", "--alignments", "--token-scores"
        wanted, found = (
            shell("translate", x, *words, given=given)
            for x in (saved(3), tmp_path / name)
        )
        assert found[::2] == wanted[::2] == (0, "")
        pairs = zip(found[1].split(), wanted[1].split(), strict=True)
        for x, y in pairs:
            assert x == y or abs(float(x) - float(y)) < 1e-4
