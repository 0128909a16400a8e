"""cache: a folder is written once, whole or not at all, and found again."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from keras_attention.text import cache as module
from keras_attention.text.cache import cached_folder
from keras_attention.text.cache import digest_files
from keras_attention.text.cache import map_file

pytestmark = pytest.mark.tensorflow  # the package around it needs it

CONTENT = b"flat numbers" * 1000
ROOT = Path(__file__).parents[2]
STUCK = """
import sys, time
from pathlib import Path
from keras_attention.text.cache import cached_folder

def write(folder):
    (folder / "numbers").write_bytes(b"half")
    print("begun", flush=True)
    time.sleep(600)

cached_folder(Path(sys.argv[1]), "key", write)
"""


class Writer:
    """Writes a file, and counts how often."""

    def __init__(self):
        self.count = 0

    def __call__(self, folder):
        self.count += 1
        (folder / "numbers").write_bytes(CONTENT)
        return {"dropped": 3}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def find(cache, write=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folder, kept = cached_folder(cache, "key", write or Writer())
    assert kept == {"dropped": 3}
    return bytes(map_file(folder / "numbers"))


def test_it_is_written_once(tmp_path):
    write = Writer()
    for _ in range(2):
        assert find(tmp_path / "deep" / "cache", write) == CONTENT
    assert write.count == 1


def test_of_many_at_a_time_one_writes(tmp_path):
    write, found = Writer(), []

    def slowly(folder):
        time.sleep(0.2)
        return write(folder)

    threads = [
        threading.Thread(target=lambda: found.append(find(tmp_path, slowly)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == 4 * [CONTENT]
    assert write.count == 1


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("numbers", flip),
        ("numbers", lambda file: os.truncate(file, 100)),
        ("numbers", lambda file: file.unlink()),
        ("corpus.json", lambda file: file.write_text("{")),
        ("corpus.json", lambda file: file.write_text('{"sha256": 3}')),
        ("corpus.json", lambda file: file.write_text("[]")),
    ],
)
def test_what_is_damaged_is_named_and_made_again(tmp_path, name, damage):
    write = Writer()
    find(tmp_path, write)
    damage(tmp_path / "key" / name)
    with pytest.warns(UserWarning, match=r"made again: .*key"):
        folder, _ = cached_folder(tmp_path, "key", write)
    assert (folder / "numbers").read_bytes() == CONTENT
    assert find(tmp_path, write) == CONTENT
    assert write.count == 2


def test_a_folder_of_somebody_else_stays(tmp_path):
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "letters").write_text("precious")
    with (
        pytest.warns(UserWarning, match="made again"),
        pytest.raises(ValueError, match=r"Will not replace .*key"),
    ):
        cached_folder(tmp_path, "key", Writer())
    assert names(tmp_path / "key") == ["letters"]


def test_an_error_leaves_nothing(tmp_path):
    def fails(folder):
        (folder / "numbers").write_bytes(CONTENT)
        raise KeyError("thrown")

    with pytest.raises(KeyError, match="thrown"):
        cached_folder(tmp_path, "key", fails)
    assert names(tmp_path) == ["key.lock"]
    assert find(tmp_path) == CONTENT


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises(OSError, match="room in it") as error:
            cached_folder(tmp_path, "key", Writer())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(tmp_path) in str(error.value)
    assert names(tmp_path) == ["key.lock"]
    assert find(tmp_path) == CONTENT


@pytest.mark.slow
def test_one_that_is_killed_leaves_nothing_false(tmp_path):
    """Another waits for it, and then writes."""
    child = subprocess.Popen(
        [sys.executable, "-c", STUCK, tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout.readline() == "begun\n"
        found = []
        waiting = threading.Thread(target=lambda: found.append(find(tmp_path)))
        waiting.start()
        time.sleep(0.5)
        assert not found
        assert not (tmp_path / "key").exists()
        child.send_signal(signal.SIGKILL)
        waiting.join(timeout=30)
    assert found == [CONTENT]
    assert not [x for x in names(tmp_path) if x.startswith(".")]


class TestDigests:
    """A file is read again only if it may have changed."""

    @pytest.fixture
    def reads(self, monkeypatch):
        found, read = [], module._sha256
        monkeypatch.setattr(
            module, "_sha256", lambda file: found.append(file) or read(file)
        )
        return found

    def make(self, folder, age):
        file = folder / "text"
        file.write_text("one")
        self.backdate(file, age)
        return file

    def backdate(self, file, age):
        then = time.time() - age
        os.utime(file, (then, then))

    def test_an_old_file_is_read_once(self, tmp_path, reads, monkeypatch):
        monkeypatch.setattr(module, "SETTLED", -1.0)  # its change is old
        file = self.make(tmp_path, 100)
        found = [digest_files([file], tmp_path / "c") for _ in range(3)]
        assert len({*map(tuple, found)}) == len(reads) == 1
        file.write_text("two")  # as long, and as old
        self.backdate(file, 100)
        assert digest_files([file], tmp_path / "c") != found[0]

    def test_a_file_that_has_just_changed_is_read_again(self, tmp_path, reads):
        file = self.make(tmp_path, 100)  # by the time that can be set
        for count in (1, 2):
            digest_files([file], tmp_path / "c")
            assert len(reads) == count

    def test_a_damaged_note_is_not_believed(self, tmp_path, reads, monkeypatch):
        monkeypatch.setattr(module, "SETTLED", -1.0)
        file = self.make(tmp_path, 100)
        wanted = digest_files([file], tmp_path / "c")
        (note,) = (tmp_path / "c" / "digests").iterdir()
        note.write_text(wanted[0][:30])
        assert digest_files([file], tmp_path / "c") == wanted

    def test_a_cache_that_cannot_be_written_is_read(
        self, tmp_path, monkeypatch
    ):
        find(tmp_path)

        def refuse(*_):
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr(module, "replaced_file", refuse)
        monkeypatch.setattr(module, "alone", refuse)
        monkeypatch.setattr(module, "SETTLED", -1.0)
        assert find(tmp_path) == CONTENT
        with pytest.raises(OSError, match="that it can write"):
            cached_folder(tmp_path, "other", Writer())


def test_an_empty_file_has_nothing(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert bytes(map_file(tmp_path / "empty")) == b""
