"""cache: a folder is written once, whole or not at all, and found again."""

import os
import resource
import shutil
import threading
import time
import warnings

import pytest

from keras_attention.data import cache as module
from keras_attention.data.cache import Cache

CONTENT = b"flat numbers" * 1000


def write(folder):
    (folder / "numbers").write_bytes(CONTENT)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def make(cache, write=write, key="key"):
    with Cache(cache).folder(key, ["numbers"]) as draft:
        if draft:
            write(draft)
    return (cache / key / "numbers").read_bytes()


def find(cache, write=write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return make(cache, write)


def test_it_is_written_once(tmp_path):
    for writes in (write, None):
        assert find(tmp_path / "deep" / "cache", writes) == CONTENT


def test_of_many_at_a_time_one_writes(tmp_path):
    calls, found = [], []

    def slowly(folder):
        calls.append(folder)
        time.sleep(0.2)
        write(folder)

    threads = [
        threading.Thread(target=lambda: found.append(find(tmp_path, slowly)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == 4 * [CONTENT]
    assert len(calls) == 1


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


TEXTS = [
    *(b"{", b"[]", b"3", b"\xff", b"[" * 10**5, b"{}", b'{"sha256": 3}'),
    *(b'{"sha256": {}}', b'{"sha256": []}', b'{"sha256": {"a": "b"}}'),
    b'{"sha256": {"numbers": {}}}',
]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *(("key/numbers", x) for x in (flip, *DAMAGES, b"")),
        *(("key/corpus.json", x) for x in (*DAMAGES, *TEXTS)),
        *(("key", x) for x in DAMAGES[1:]),
        *(("key.lock", x) for x in (pipe, folder_of_letters)),
    ],
)
def test_what_is_damaged_is_named_and_made_again(tmp_path, name, damage):
    cache = tmp_path / "cache"
    find(cache)
    if callable(damage):
        damage(cache / name)
    else:
        (cache / name).write_bytes(damage)
    if name == "key.lock":  # is looked at if there is no folder
        clear(cache / "key")
    with pytest.warns(
        UserWarning, match=f"created again: .*{name.split('/')[0]}"
    ):
        assert make(cache) == CONTENT
    assert find(cache, None) == CONTENT


def test_what_cannot_be_opened_is_not_removed(tmp_path):
    made = make(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            find(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert find(tmp_path, None) == made


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises(OSError, match="enough space") as error:
            make(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(tmp_path) in str(error.value)
    assert names(tmp_path) == ["key.lock"]
    assert find(tmp_path) == CONTENT


class TestDigests:
    """A file is read again only if it may have changed."""

    @pytest.fixture
    def reads(self, monkeypatch):
        found, read = [], module.sha256_of
        monkeypatch.setattr(
            module, "sha256_of", lambda file: found.append(file) or read(file)
        )
        return found

    def make(self, folder, text="one"):
        """Write a file that is old, by the time that can be set."""
        file, then = folder / "text", time.time() // 1000 * 1000 - 1000
        file.write_text(text)
        os.utime(file, (then, then))
        return file

    def test_an_old_file_is_read_once(self, tmp_path, reads, monkeypatch):
        monkeypatch.setattr(module, "SETTLED", -1.0)  # its change is old
        file = self.make(tmp_path)
        found = [Cache(tmp_path / "c").digests([file]) for _ in range(3)]
        assert len({*map(tuple, found)}) == len(reads) == 1
        self.make(tmp_path, "two")  # as long, and as old
        assert Cache(tmp_path / "c").digests([file]) != found[0]

    def test_a_file_that_has_just_changed_is_read_again(self, tmp_path, reads):
        file = self.make(tmp_path)
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
        cache, file = Cache(tmp_path / "c"), self.make(tmp_path)
        wanted = cache.digests([file])
        (note,) = (tmp_path / "c" / "digests").iterdir()
        before = note.read_bytes()
        damage(note)
        with pytest.warns(UserWarning, match=r"created again: .*digests"):
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
        with pytest.raises(OSError, match="a writable `cache`"):
            make(tmp_path, key="other")
