"""`score`: figures of texts, of models, and of alignments by hand."""

import codecs

import numpy as np
import pytest
from shell import load
from shell import saved
from shell import shell

from keras_attention.training import score_texts

RIGHT = "two dogs play in the snow .\na cat sleeps .\n"
FOUND = b"two dogs play in snow .\nA cat sleeps .\n"


@pytest.fixture
def right(tmp_path):
    file = tmp_path / "right.txt"
    file.write_text(RIGHT)
    return file


@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_are_printed_with_their_signatures(right, lowercase):
    words = ["--lowercase"] if lowercase else []
    code, out, err = shell("score", right, *words, given=FOUND)
    assert (code, err) == (0, "")
    rows = out.splitlines()
    lines = FOUND.decode().splitlines(), [RIGHT.splitlines()], lowercase
    for name, row in zip(("bleu", "chrf", "ter"), rows, strict=False):
        score, signature = score_texts(name, *lines)
        assert row == f"{name} = {score:.2f} {signature}"
    wrong = 1 if lowercase else 2  # of 11 words and 41 characters
    assert rows[3:] == [
        f"wer = {100 * wrong / 11:.2f}",
        f"per = {100 * wrong / 11:.2f}",
        f"cer = {100 * (wrong + 3) / 41:.2f}",
        f"ser = {50 * wrong:.2f}",
        f"accuracy = {50 * (2 - wrong):.2f}",
    ]
    asked = "score", right, "--metrics", "cer,wer", *words
    assert shell(*asked, given=FOUND)[1].splitlines() == [rows[5], rows[3]]


def test_reads_files_and_several_references(right, tmp_path):
    (tmp_path / "found.txt").write_bytes(FOUND)
    (tmp_path / "other.txt").write_bytes(FOUND)
    words = right, tmp_path / "other.txt", "--hypotheses"
    code, out, _ = shell("score", *words, tmp_path / "found.txt")
    assert code == 0
    assert "bleu = 100.00 nrefs:2|" in out
    assert "\naccuracy = 100.00\n" in out


@pytest.mark.slow
def test_a_model_scores_what_it_is_given(tmp_path):
    sources, texts = ["0123", "", "431"], ["01", "4", "0"]
    (tmp_path / "sources").write_text("".join(f"{x}\n" for x in sources))
    given = "".join(f"{x}\n" for x in texts).encode()
    words = "score", tmp_path / "sources", "--model", saved()
    code, out, err = shell(*words, given=given)
    assert (code, err) == (0, "")
    *rows, last = out.splitlines()
    found = load(str(saved())).score(sources, texts)
    np.testing.assert_allclose([*map(float, rows)], found.scores, atol=1e-5)
    words = sum(len(x) + 1 for x in texts)  # each with its end
    wanted = np.exp(-sum(found.scores) / words)
    assert last == f"perplexity = {wanted:.4f}"
    words = "score", tmp_path / "sources", tmp_path / "sources", "--model"
    code, _, err = shell(*words, saved(), given=given)
    assert code == 1
    assert "`score --model` needs one file" in err


@pytest.mark.parametrize(
    ("given", "words", "message"),
    [
        (b"one\n", [], "1 hypotheses, and 2 lines"),
        (b"", [], "from `--hypotheses FILE`; the other"),
        (b"a\n\xff\n", [], "UTF-8"),
        (b"a\nb\n", ["--alignments", "--model", "."], "--model and --al"),
        (b"a\nb\n", ["--model", ".", "--lowercase"], "--model and --lower"),
        (b"a\nb\n", ["--alignments", "--metrics", "ter"], "alignments and --m"),
        (b"0-0\n1 2\n", ["--alignments"], "'1' in line 2"),
        (b"0-0\n1-%s\n" % (b"9" * 19), ["--alignments"], "9' in line 2"),
    ],
)
def test_wrong_lines_are_errors(right, given, words, message):
    if "--alignments" in words:
        right.write_text("0-0\n1-1\n")
    code, out, err = shell("score", right, *words, given=given)
    assert (code, out) == (1, "")
    assert message in err


def test_a_byte_order_mark_is_no_text(tmp_path):
    """Windows begins files with it."""
    file = tmp_path / "gold.txt"
    file.write_text("0-0\n1-1\n", encoding="utf-8-sig")
    given = codecs.BOM_UTF8 + b"0-0\r\n1-1"
    assert shell("score", file, "--alignments", given=given)[1] == (
        "AER = 0.0000\n"
    )


def test_the_error_rate_of_alignments(tmp_path):
    """By hand: 4 found, of which 2 are sure and 1 more possible; 3 sure."""
    file = tmp_path / "gold.txt"
    file.write_text("0-0 1?1 2-2\n0p0 1-1\n")
    words = "score", file, "--alignments"
    assert shell(*words, given=b"0-0 1-1 2-1\n1-1\n")[1] == "AER = 0.2857\n"
    assert shell(*words, given=b"0-0 2-2\n1-1\n")[1] == "AER = 0.0000\n"
    far = b"0-0 2-2 %d-0\n1-1\n" % 10**17  # takes no memory
    assert shell(*words, given=far)[1] == "AER = 0.1429\n"
    several = shell(*words[:2], file, "--alignments", given=b"\n\n")
    assert "one file with references" in several[2]
