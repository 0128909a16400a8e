import gzip
import itertools
import os
from pathlib import Path

import pytest

from keras_attention.text.files import read_lines
from keras_attention.text.files import read_sentences


def write(path, content):
    content = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a\r\n\r\nb\r\n", ["a", "", "b"]),
        ("\n", [""]),
        ("\ufeffä\n\ufeffb", ["ä", "\ufeffb"]),
        ("a\u2028b\x0bc\x0cd\x85e\rf\n", ["a\u2028b\x0bc\x0cd\x85e\rf"]),
    ],
)
def test_only_line_feeds_end_lines(tmp_path, content, lines):
    assert read_lines(write(tmp_path / "a.txt", content)) == lines
    packed = gzip.compress(content.encode())
    assert read_lines(write(tmp_path / "a.gz", packed)) == lines
    assert read_lines(str(write(tmp_path / "magic", packed))) == lines


def test_a_line_that_is_not_utf8_is_named(tmp_path):
    file = write(tmp_path / "a.txt", "fine\nalso ä\n".encode() + b"b\xe4d\n")
    with pytest.raises(ValueError, match=r"a\.txt:3, .* byte 2"):
        read_lines(file)
    packed = write(tmp_path / "b.gz", gzip.compress(file.read_bytes()))
    with pytest.raises(ValueError, match=r"b\.gz:3"):
        read_lines(packed)


def test_a_truncated_gzip_says_how_far_it_goes(tmp_path):
    lines = "".join(f"{n * n * 7919 % 99991}\n" for n in range(50_000))
    packed = gzip.compress(lines.encode())
    file = write(tmp_path / "a.gz", packed[: len(packed) // 2])
    with pytest.raises(ValueError, match=r"a\.gz, .* line [1-9]\d{3,}"):
        read_lines(file)


def test_a_corrupt_gzip_is_an_error(tmp_path):
    packed = bytearray(gzip.compress(b"line\n" * 1000))
    packed[len(packed) // 2] ^= 0xFF
    for content in (bytes(packed), b"plain text\n", b"\x1f\x8b"):
        file = write(tmp_path / "a.gz", content)
        with pytest.raises(ValueError, match=r"a\.gz, .* after line \d+"):
            read_lines(file)


@pytest.mark.parametrize(
    "content", [b"", gzip.compress(b"")], ids=["plain", "gzip"]
)
def test_an_empty_file_is_an_error(tmp_path, content):
    with pytest.raises(ValueError, match=r"a\.txt, which is empty"):
        read_lines(write(tmp_path / "a.txt", content))


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"gone\.txt: No such file"):
        read_lines(tmp_path / "gone.txt")
    with pytest.raises(ValueError, match=r"directory\. Check the path"):
        read_lines(tmp_path)


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ValueError, match="pipes and devices cannot be"):
            read_lines(file)


@pytest.mark.parametrize(
    "names",
    [
        *(["/data/a.de"], ["/data/corpus"], ["./a", "../b"]),
        *(["~/a.de", "~me/a"], ["data/a.txt", "data/a.de.gz"]),
        *([r"C:\data\a.txt"], [Path("a.de"), "data/b.de"]),
    ],
)
def test_names_of_files_are_no_sentences(names):
    with pytest.raises(ValueError, match=r"`A\.train` .*`pathlib\.Path"):
        list(read_sentences(iter(names), "A"))


def test_strings_that_name_files_are_no_sentences(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [write(tmp_path / f"my {n}", "a\n").name for n in range(20)]
    for few in (names[:1], names):
        with pytest.raises(ValueError, match=r"`pathlib\.Path"):
            list(read_sentences(few, "A"))
    sentences = [*names[:3], "und"]
    assert list(read_sentences(sentences, "A")) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        *(["und/oder"], ["/"], ["/help", "/start"], ["Siehe /data/a.de"]),
        *(["/data/a.de", "Ein Satz."], ["/data/a.de"] * 10),
        ["either/or.", "1/2.5", "5 km/h", "...", "a.de", "~", "~5"],
        *(["a\0b"], ["x" * 5000]),
    ],
)
def test_sentences_may_have_slashes(sentences):
    assert list(read_sentences(iter(sentences), "A")) == sentences


def test_sentences_are_read_one_at_a_time():
    endless = read_sentences((f"s{n}" for n in itertools.count()), "A")
    assert list(itertools.islice(endless, 12))[-1] == "s11"


@pytest.mark.parametrize("items", ["a", None, 3, Path("a")])
def test_one_file_is_no_list(items):
    with pytest.raises(
        ValueError, match=r"into a list, or pass a file as a `pathlib"
    ):
        list(read_sentences(items, "A"))
