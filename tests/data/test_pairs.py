"""pairs: texts whose lines belong together."""

import gzip
import os
from pathlib import Path

import pytest

from keras_attention.data.pairs import read_pairs
from keras_attention.data.pairs import read_parallel


def write(path, content):
    path.write_text(content)
    return path


def test_pairs_come_from_files_lists_of_files_or_sentences(tmp_path):
    de = write(tmp_path / "a.de", "eins\nzwei\n")
    en = write(tmp_path / "a.en", "one\ntwo\n")
    fr = write(tmp_path / "b.en", "trois\n")
    drei = write(tmp_path / "b.de", "drei\n")
    assert read_parallel(de, str(en)) == (["eins", "zwei"], ["one", "two"])
    sources, targets = read_parallel([de, drei], (en, fr))
    assert sources == ["eins", "zwei", "drei"]
    assert targets == ["one", "two", "trois"]
    assert read_parallel(["a b"], ["c\nd"]) == (["a b"], ["c\nd"])
    assert read_parallel(de, ["\ud800", ""])[1] == ["?", ""]


def test_unequal_files_are_both_named(tmp_path):
    de = write(tmp_path / "a.de", "eins\nzwei\n")
    en = write(tmp_path / "a.en", "one\n")
    with pytest.raises(ValueError, match=r"a\.de with 2 and .*a\.en with 1"):
        read_parallel(de, en)
    with pytest.raises(ValueError, match=r"a\.de with 2 and .*a\.en with 1"):
        read_parallel([de, en], [en, de])
    with pytest.raises(ValueError, match="in pairs"):
        read_parallel([de, de], [de])
    with pytest.raises(ValueError, match=r"a\.de with 2 and a list of targ"):
        read_parallel(de, ["one", "two", "three"])


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    "wrong",
    [
        *([], None, 3, {"a": 1}, {"a"}, b"a"),
        ["a", Path("b")],
        Path,
    ],
    ids=str,
)
def test_what_is_neither_files_nor_sentences_is_refused(side, wrong):
    sides = [["one"], ["one"]]
    sides[side] = wrong
    name = ["sources", "targets"][side]
    with pytest.raises(ValueError, match=rf"`{name}` must .*: {name}(\[1\])?="):
        read_parallel(*sides)


def test_names_of_files_in_a_list_are_refused(tmp_path):
    de = write(tmp_path / "a.de", "eins\n")
    for names in ([str(de)], ["data/a.de", "data/b.de"]):
        with pytest.raises(ValueError, match=r"pass `pathlib\.Path"):
            read_parallel(names, ["one"])


def test_columns_of_a_table_are_read(tmp_path):
    content = 'a b\tx "y"\t1\n \t\tN;ACC\n'
    file = write(tmp_path / "a.tsv", content)
    packed = tmp_path / "b"
    packed.write_bytes(gzip.compress(content.encode()))
    for path in (file, str(file), packed):
        assert read_pairs(path) == (["a b", " "], ['x "y"', ""])
    assert read_pairs(file, (2, 0, 0)) == (["1", "N;ACC"], *2 * (["a b", " "],))


def test_a_line_with_too_few_columns_is_named(tmp_path):
    file = write(tmp_path / "a.tsv", "a\tb\nc d\n")
    says = r"needs 2 col.*a\.tsv:2, whose .* 1: 'c d'"
    with pytest.raises(ValueError, match=says):
        read_pairs(file)
    with pytest.raises(
        ValueError, match=r"needs 3 columns.*a\.tsv:1, whose .* 2"
    ):
        read_pairs(file, (0, 2))
    write(file, "\n")
    with pytest.raises(ValueError, match=r"a\.tsv:1, whose .* 1"):
        read_pairs(file)
    with pytest.raises(ValueError, match=r"gone.tsv: No such file"):
        read_pairs(tmp_path / "gone.tsv")


@pytest.mark.parametrize(
    "columns", [0, (), (-1, 0), ("a", "b"), (0.0, 1), None]
)
def test_columns_are_numbers(columns, tmp_path):
    file = write(tmp_path / "a.tsv", "a\tb\n")
    with pytest.raises(ValueError, match=r"`columns` must .*: columns="):
        read_pairs(file, columns)


def test_every_file_is_opened_before_the_first_is_read(tmp_path):
    de = write(tmp_path / "a.de", "eins\nzwei\n")
    en = write(tmp_path / "a.en", "one\n")
    os.mkfifo(tmp_path / "pipe")
    for wrong, says in (
        (tmp_path / "pipe", "pipe: pipes and devices cannot be read"),
        (tmp_path / "gone", "gone: No such file"),
    ):
        with pytest.raises(ValueError, match=says):
            read_parallel([de, wrong], [en, en])
