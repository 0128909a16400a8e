"""cache: a folder is written once, whole or not at all, and found again."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from keras_attention.data import cache as module
from keras_attention.data.cache import Cache

pytestmark = pytest.mark.tensorflow  # the package around it needs it

CONTENT = b"flat numbers" * 1000
ROOT = Path(__file__).parents[2]
STUCK = """
import sys, time
from pathlib import Path
from keras_attention.data.cache import Cache

with Cache(Path(sys.argv[1])).folder("key", ["numbers"]) as draft:
    (draft / "numbers").write_bytes(b"half")
    print("begun", flush=True)
    time.sleep(600)
"""


class Writer:
    """Writes a file, and counts how often."""

    def __init__(self):
        self.count = 0

    def __call__(self, folder):
        self.count += 1
        (folder / "numbers").write_bytes(CONTENT)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def make(cache, write=None, key="key"):
    with Cache(cache).folder(key, ["numbers"]) as draft:
        if draft:
            (write or Writer())(draft)
    return (cache / key / "numbers").read_bytes()


def find(cache, write=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return make(cache, write)


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


def clear(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def pipe(path):
    clear(path)
    os.mkfifo(path)


def folder_of_letters(path):
    clear(path)
    path.mkdir()
    (path / "letter").write_text("a")


def endless(path):
    clear(path)
    path.symlink_to("/dev/zero")


def elsewhere(path):
    """A link to the same content in another folder."""
    other = path.parents[2] / f"{path.name}-elsewhere"
    path.symlink_to(path.rename(other))


DAMAGES = [clear, pipe, folder_of_letters, endless, elsewhere]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("numbers", flip),
        ("numbers", lambda file: os.truncate(file, 100)),
        *((name, x) for name in ("numbers", "corpus.json") for x in DAMAGES),
        *(
            ("corpus.json", lambda file, text=text: file.write_bytes(text))
            for text in (
                *(b"{", b"[]", b"3", b"\xff", b"[" * 10**5, b"{}"),
                *(b'{"sha256": 3}', b'{"sha256": {}}', b'{"sha256": []}'),
                *(b'{"sha256": {"numbers": {}}}', b'{"sha256": {"a": "b"}}'),
            )
        ),
        *((".", x) for x in (pipe, folder_of_letters, endless, elsewhere)),
    ],
)
def test_what_is_damaged_is_named_and_made_again(tmp_path, name, damage):
    write, cache = Writer(), tmp_path / "cache"
    find(cache, write)
    damage(cache / "key" / name)
    with pytest.warns(UserWarning, match=r"made again: .*key"):
        assert make(cache, write) == CONTENT
    assert find(cache, write) == CONTENT
    assert write.count == 2


@pytest.mark.parametrize("damage", [pipe, folder_of_letters])
def test_a_lock_that_is_no_file_is_made_again(tmp_path, damage):
    find(tmp_path)
    clear(tmp_path / "key")
    damage(tmp_path / "key.lock")
    with pytest.warns(UserWarning, match=r"made again: .*key\.lock"):
        assert make(tmp_path) == CONTENT
    assert (tmp_path / "key.lock").is_file()


def test_an_error_leaves_nothing(tmp_path):
    def fails(folder):
        (folder / "numbers").write_bytes(CONTENT)
        raise KeyError("thrown")

    with pytest.raises(KeyError, match="thrown"):
        make(tmp_path, fails)
    assert names(tmp_path) == ["key.lock"]
    assert find(tmp_path) == CONTENT


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises(OSError, match="room in it") as error:
            make(tmp_path)
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
        found, read = [], module.sha256_of
        monkeypatch.setattr(
            module, "sha256_of", lambda file: found.append(file) or read(file)
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
        found = [Cache(tmp_path / "c").digests([file]) for _ in range(3)]
        assert len({*map(tuple, found)}) == len(reads) == 1
        file.write_text("two")  # as long, and as old
        self.backdate(file, 100)
        assert Cache(tmp_path / "c").digests([file]) != found[0]

    def test_a_file_that_has_just_changed_is_read_again(self, tmp_path, reads):
        file = self.make(tmp_path, 100)  # by the time that can be set
        for count in (1, 2):
            Cache(tmp_path / "c").digests([file])
            assert len(reads) == count

    @pytest.mark.parametrize(
        "damage",
        [
            flip,
            lambda note: note.write_bytes(b"\xff" * 128),
            lambda note: note.write_text("0" * 64),
            lambda note: os.truncate(note, 30),
            *(pipe, folder_of_letters, endless, elsewhere),
            lambda note: (clear(note.parent), note.parent.write_text("")),
        ],
    )
    def test_a_damaged_note_is_made_again(self, tmp_path, damage, monkeypatch):
        monkeypatch.setattr(module, "SETTLED", -1.0)
        cache, file = Cache(tmp_path / "c"), self.make(tmp_path, 100)
        wanted = cache.digests([file])
        (note,) = (tmp_path / "c" / "digests").iterdir()
        before = note.read_bytes()
        damage(note)
        with pytest.warns(UserWarning, match=r"made again: .*digests"):
            assert cache.digests([file]) == wanted
        assert note.read_bytes() == before

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
            make(tmp_path, key="other")
