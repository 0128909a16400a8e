"""What is read for a training, what is left out, and what a warning tells."""

import re
import warnings

import pytest

from keras_attention.recipe.pairs import read_training_pairs
from keras_attention.recipe.pairs import warn_of_overlap


def write(folder, text, name="words.tsv"):
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def read(folder, text, *arguments, **options):
    return read_training_pairs([write(folder, text)], *arguments, **options)


def test_cells_are_stripped_and_blank_lines_are_skipped(tmp_path):
    text = " cat \tk a t\tN\n\n\t\t\ndog\t d o g\t N;SG \n\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(tmp_path, text, (0, 1, 2))
    assert found.columns == (["cat", "dog"], ["k a t", "d o g"], ["N", "N;SG"])
    assert found.lines == [1, 4]
    assert found.select([1]).columns == (["dog"], ["d o g"], ["N;SG"])


def test_two_files_are_read_side_by_side(tmp_path):
    files = [write(tmp_path, "a\n\nb\n", "x"), write(tmp_path, "1\n\n2\n", "y")]
    found = read_training_pairs(files)
    assert (found.columns, found.lines) == ((["a", "b"], ["1", "2"]), [1, 3])
    files[1].write_text("1\n")
    with pytest.raises(ValueError, match="the same number of lines"):
        read_training_pairs(files)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a\tb\nc\t\n\td\n",
            r"words.tsv: pairs with .* pairs: 2. The first is line 2\.",
        ),
        ("word\tIPA\na\tb\n", r"words.tsv:1 looks like a header: 'word IPA'"),
        (
            "a\tb\nx\ty\na\tc\n",
            r"several targets.* sources: 1. .* 'a' in lines 1 and 3",
        ),
        (
            "a\tb\na\tb\n",
            r"pairs occur more than once.* pairs: 1. The first is line 2\.",
        ),
    ],
)
def test_what_looks_like_a_mistake_is_told_with_its_line(tmp_path, text, said):
    with pytest.warns(UserWarning, match=said) as told:
        read(tmp_path, text)
    assert len(told) == 1


def test_a_header_is_skipped(tmp_path):
    found = read(tmp_path, "word\tipa\na\tb\n", header=True)
    assert (found.columns, found.lines) == ((["a"], ["b"]), [2])


def test_features_make_another_source(tmp_path):
    text = "a\tb\tX\na\tc\tY\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train = read(tmp_path, text, (0, 1, 2))
        other = read(tmp_path, "a\tb\tZ\n", (0, 1, 2))
        warn_of_overlap(train, other)
    with pytest.warns(UserWarning, match="1 of 1 sources .* such as 'a X'"):
        warn_of_overlap(train, train.select([0]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\tb\nc\n", "words.tsv:2, whose number of columns is 1: 'c'"),
        ("\n\n", "words.tsv, which has none"),
        ("word\tipa\n", "words.tsv, which has none"),
    ],
)
def test_lines_that_cannot_be_pairs_are_named(tmp_path, text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        read(tmp_path, text, header=text.startswith("word"))


def test_line_ends_without_a_line_feed_are_an_error(tmp_path):
    file = tmp_path / "mac.tsv"
    file.write_bytes(b"ab\tAB\rcd\tCD\r")
    with pytest.raises(
        ValueError, match=r"mac\.tsv:1, which contains a carriage"
    ):
        read_training_pairs([file])


@pytest.mark.parametrize("sign", ["\0", "\x1b", "\x85", "\u2028"])
def test_control_characters_are_told(tmp_path, sign):
    file = tmp_path / "odd.tsv"
    file.write_text(f"ab\tAB\nc{sign}d\tCD\n", encoding="utf-8")
    with pytest.warns(
        UserWarning, match=r"control .*: 1\. The first is line 2"
    ):
        found = read_training_pairs([file])
    assert found.columns[0] == ["ab", f"c{sign}d"]


def test_quotation_marks_of_a_csv_file_are_told(tmp_path, recwarn):
    file = tmp_path / "quoted.tsv"
    file.write_text('"ab"\t"AB"\n"cd"\t"CD" x\n')
    found = read_training_pairs([file])
    assert found.columns[0] == ['"ab"', '"cd"']
    (warning,) = recwarn
    assert "every source is in quotation marks" in str(warning.message)
