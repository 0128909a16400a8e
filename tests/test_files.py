"""Files and folders are replaced whole or not at all, by drafts of our own."""

import errno
import json
import os
import stat
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from keras_attention import files
from keras_attention.files import replaced_file
from keras_attention.files import replaced_folder


def names(folder):
    return [path.name for path in folder.iterdir()]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def fill_file(path, text, fails=False):
    with replaced_file(path, ".txt") as draft:
        draft.write_text(text)
        if fails:
            raise KeyError("thrown")


def fill_folder(path, text, fails=False):
    with replaced_folder(path, "mark") as draft:
        (draft / "mark").write_text(text)
        if fails:
            raise KeyError("thrown")


def content(path):
    return (path / "mark" if path.is_dir() else path).read_text()


needs_locks = pytest.mark.skipif(
    files.fcntl is None, reason="Windows has no `fcntl`"
)
FILL = [fill_file, fill_folder]
DRAFTS = [
    lambda path: replaced_file(path),
    lambda path: replaced_folder(path, "mark"),
]


@pytest.mark.parametrize("fill", FILL)
def test_it_writes_and_replaces(tmp_path, fill):
    path = tmp_path / "deep" / "thing.txt"
    fill(path, "one")
    fill(str(path), "two")
    assert content(path) == "two"
    assert names(path.parent) == ["thing.txt"]


@pytest.mark.parametrize("fill", FILL)
def test_an_error_leaves_everything_as_it_was(tmp_path, fill):
    path = tmp_path / "thing.txt"
    fill(path, "one")
    with pytest.raises(KeyError, match="thrown"):
        fill(path, "half", fails=True)
    assert content(path) == "one"
    assert names(tmp_path) == ["thing.txt"]


@pytest.mark.parametrize("draft_of", DRAFTS)
def test_nobody_else_can_reach_a_draft(tmp_path, draft_of):
    """Names differ each time, and lie in a folder of the owner alone."""
    seen = set()
    for name in ("one", "two"):
        with draft_of(tmp_path / name) as draft:
            (private,) = tmp_path.glob(".*")
            assert private in draft.parents
            assert mode(private) == stat.S_IRWXU
            seen.add(private.name)
            if not draft.exists():
                draft.write_text("")
    assert len(seen) == 2


@needs_locks
def test_one_at_a_time_is_alone(tmp_path):
    inside, most = [], []

    def enter(_):
        with files.alone(tmp_path / "lock"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.05)
            inside.pop()

    with ThreadPoolExecutor(4) as pool:
        [*pool.map(enter, range(4))]
    assert most == 4 * [1]


@pytest.mark.parametrize("fill", FILL)
def test_links_are_replaced_and_not_followed(tmp_path, fill):
    """Only a link that stands at the path itself, to a thing of its kind."""
    target, link = tmp_path / "target", tmp_path / "thing.txt"
    fill(tmp_path / "first.txt", "precious")
    (tmp_path / "first.txt").rename(target)
    link.symlink_to(target)
    fill(link, "new")
    assert content(target) == "precious"
    assert content(link) == "new"
    assert not link.is_symlink()
    assert sorted(names(tmp_path)) == ["target", "thing.txt"]


@pytest.mark.parametrize("fill", FILL)
def test_others_may_read_what_is_written(tmp_path, fill):
    before = os.umask(0o022)
    try:
        fill(tmp_path / "thing.txt", "one")
    finally:
        os.umask(before)
    path = tmp_path / "thing.txt"
    assert mode(path) == (0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("fill", FILL)
def test_the_disk_has_it_before_its_name(tmp_path, monkeypatch, fill):
    """A cut of power leaves no name without its content."""
    path, seen, fsync = tmp_path / "thing.txt", [], os.fsync

    def note(number):
        seen.append((os.fstat(number).st_ino, path.exists()))
        fsync(number)

    monkeypatch.setattr(os, "fsync", note)
    fill(path, "one")
    *parts, last = seen
    written = {path, path / "mark"} if path.is_dir() else {path}
    assert {*parts} == {(part.stat().st_ino, False) for part in written}
    assert last == (tmp_path.stat().st_ino, True)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_disk_that_fails_is_told_from_one_that_cannot(
    tmp_path, monkeypatch, number
):
    def fail(_):
        raise OSError(number, "no")

    fill_file(tmp_path / "thing.txt", "one")
    monkeypatch.setattr(os, "fsync", fail)
    fails = number == errno.EIO
    with pytest.raises(OSError, match="no") if fails else nullcontext():
        fill_file(tmp_path / "thing.txt", "two")
    assert content(tmp_path / "thing.txt") == ("one" if fails else "two")
    assert names(tmp_path) == ["thing.txt"]


# Files.


def test_a_folder_is_no_file(tmp_path):
    path = tmp_path / "folder.txt"
    path.mkdir()
    with pytest.raises(ValueError, match="Choose another path"):
        fill_file(path, "one")
    assert path.is_dir()


def test_the_name_tells_the_format(tmp_path):
    with pytest.raises(ValueError, match=r"extension `\.txt`"):
        fill_file(tmp_path / "file.text", "one")
    assert names(tmp_path) == []


# Folders.


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_others_wrote_stays(tmp_path, kind):
    path = tmp_path / "thing"
    if kind == "folder":
        path.mkdir()
        (path / "thesis.txt").write_text("precious")
    else:
        path.write_text("precious")
    with pytest.raises(ValueError, match="Choose another folder"):
        fill_folder(path, "one")
    assert path.exists()
    assert kind == "file" or (path / "thesis.txt").exists()


# Processes that are killed.


KILLED = """
import itertools, json, os, runpy, shutil, signal, sys
from pathlib import Path

module, path = sys.argv[1:]
files, path = runpy.run_path(module), Path(path)
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}


def save(text, die_at=0):
    if die_at:
        count = itertools.count(1)

        def kill(event, _):
            if event in EVENTS and next(count) == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill)
    with files["replaced_folder"](path, "mark") as draft:
        (draft / "mark").write_text(text)
        (draft / "more").write_text(text)


def look():
    found = {x.name: (x / "mark").read_text() for x in path.parent.iterdir()
             if (x / "mark").exists()}
    return [found, len(list(path.parent.iterdir()))]


for point in itertools.count(1):
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    save("old")
    child = os.fork()
    if not child:
        save("new", point)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    before = look()
    files["recover"](path)
    print(json.dumps([os.WIFSIGNALED(status), before, look()]))
    if not status:
        break
"""


def run(program, *arguments):
    """Run a program that needs no package but reads `files.py`."""
    command = [sys.executable, "-S", "-c", program, files.__file__, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True
    )


@needs_locks
def test_a_kill_at_any_moment_leaves_one_whole_folder(tmp_path):
    (tmp_path / "here").mkdir()
    said = run(KILLED, tmp_path / "here" / "model").stdout.splitlines()
    killed, befores, afters = zip(*map(json.loads, said), strict=True)
    assert len(killed) > 20
    assert all(killed[:-1])
    assert {} in [found for found, _ in befores]  # between the two renames
    texts = [found["model"] for found, _ in afters]
    assert texts == sorted(texts, reverse=True)  # the old one, then the new
    assert {*texts} == {"old", "new"}
    few = [count for _, count in afters if count > 1]
    assert len(few) <= 4  # before the lock there is nothing but an empty folder


@needs_locks
@pytest.mark.parametrize("fill", FILL)
def test_the_next_one_finds_what_was_moved_away(tmp_path, fill):
    """Whatever is written beside it."""
    fill_folder(tmp_path / "model", "old")
    private = stale_draft(tmp_path, "model")
    (tmp_path / "model").rename(private / "old" / "model")
    fill(tmp_path / "thing.txt", "one")
    assert content(tmp_path / "model") == "old"
    assert sorted(names(tmp_path)) == ["model", "thing.txt"]


def stale_draft(parent, name, lock="lock"):
    """Make what a killed process leaves that was replacing a folder."""
    private = parent / f"{files.DRAFT}x{len(names(parent))}"
    private.mkdir(mode=0o700)
    (private / "new" / name).mkdir(parents=True)
    (private / "new" / name / "mark").write_text("new")
    (private / "old").mkdir()
    (private / lock).touch()
    return private


@needs_locks
@pytest.mark.parametrize("stands", ["folder", "file", "link"])
def test_what_came_in_between_is_kept(tmp_path, stands):
    fill_folder(tmp_path / "else", "precious")
    private, path = stale_draft(tmp_path, "model"), tmp_path / "model"
    fill_folder(private / "old" / "model", "old")
    if stands == "folder":
        (tmp_path / "else").rename(path)
    elif stands == "file":
        path.write_text("precious")
    else:
        path.symlink_to(tmp_path / "else")
    files.recover(path)
    assert content(path) == "precious"
    assert not private.exists()


@needs_locks
def test_an_empty_folder_makes_room(tmp_path):
    private = stale_draft(tmp_path, "model")
    fill_folder(private / "old" / "model", "old")
    (tmp_path / "model").mkdir()
    files.recover(tmp_path / "model")
    assert content(tmp_path / "model") == "old"


@needs_locks
def test_what_was_replaced_does_not_come_back(tmp_path):
    """The process was killed while it tidied up, and the new one removed."""
    private = stale_draft(tmp_path, "model")
    fill_folder(private / "old" / "model", "old")
    (private / "new" / "model" / "mark").unlink()
    (private / "new" / "model").rmdir()
    files.recover(tmp_path / "model")
    assert names(tmp_path) == []


@needs_locks
def test_what_is_in_use_or_of_others_stays(tmp_path):
    stays = [
        stale_draft(tmp_path, "model", "its own"),  # no lock
        stale_draft(tmp_path, "model").rename(tmp_path / ".draft-thesis"),
        stale_draft(tmp_path, "model"),
        stale_draft(tmp_path, "model"),
        tmp_path / f"{files.DRAFT}notes",
        tmp_path / f"{files.DRAFT}link",
    ]
    stays[2].chmod(0o755)
    stays[4].write_text("precious")
    stays[5].symlink_to(stays[1])
    before = {path for path in tmp_path.rglob("*")}
    with open(stays[3] / "lock", "r+b") as file:
        files.fcntl.flock(file, files.fcntl.LOCK_EX)
        fill_folder(tmp_path / "model", "one")
        files.recover(tmp_path / "model")
        assert before < {*tmp_path.rglob("*")}
    files.recover(tmp_path / "model")
    assert {path for path in stays if not path.exists()} == {stays[3]}


@pytest.mark.parametrize("fails", [OSError, KeyboardInterrupt])
def test_an_error_between_the_renames_brings_the_old_one_back(
    tmp_path, monkeypatch, fails
):
    path, rename = tmp_path / "model", Path.rename
    fill_folder(path, "old")

    def fail(self, target):
        if target == path and self.parent.name == "new":
            raise fails("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(fails, match="no"):
        fill_folder(path, "new")
    assert content(path) == "old"
    assert names(tmp_path) == ["model"]


def test_without_locks_nothing_is_taken_for_stale(tmp_path, monkeypatch):
    fill_folder(tmp_path / "model", "old")
    private = stale_draft(tmp_path, "model")
    monkeypatch.setattr(files, "fcntl", None)
    fill_folder(tmp_path / "model", "new")
    assert content(tmp_path / "model") == "new"
    assert private.exists()
    assert len(names(tmp_path)) == 2


# Checksums.


@pytest.mark.parametrize("end", [b"", files.SEAL])
def test_a_seal_shows_every_change(tmp_path, end):
    path = tmp_path / "x.tflite"
    path.write_bytes(b"content" + end)
    files.seal(path)
    files.check_seal(path)
    whole = path.read_bytes()
    assert whole[:-64] == b"content"
    for i in range(len(whole)):
        flipped = bytearray(whole)
        flipped[i] ^= 1
        for damaged in (flipped, whole[:i]):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=r"x\.tflite, which cannot"):
                files.check_seal(path)


def test_pipes_and_devices_are_not_opened(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    for path in (pipe, link, "/dev/zero", str(pipe)):
        with pytest.raises(OSError, match="pipes and devices"):
            files.open_to_read(path)
        for check in (files.check_seal, files.check_archive, files.sha256_of):
            with pytest.raises(
                (OSError, ValueError), match="pipes and devices"
            ):
                check(Path(path))


def test_a_link_out_of_its_folder_is_not_followed(tmp_path):
    folder = tmp_path / "folder"
    (folder / "in").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    secret, own = tmp_path / "other" / "file", folder / "in" / "file"
    secret.write_text("secret")
    own.write_text("own")
    for name, target in (("file", own), ("dir", own.parent)):
        (folder / name).symlink_to(target)
    for name, target in (("away", secret), ("awaydir", secret.parent)):
        (folder / name).symlink_to(target)
    (tmp_path / "same").symlink_to(folder)
    for given in (folder, str(folder), tmp_path / "same"):
        for name in ("in/file", "file", "dir/file"):
            with files.open_to_read(Path(given) / name, given) as file:
                assert file.read() == b"own"
        for name in ("away", "awaydir/file", "../other/file"):
            with pytest.raises(OSError, match="a link to a file outside of"):
                files.open_to_read(Path(given) / name, given)
    assert files.open_to_read(folder / "away").read() == b"secret"


def test_an_archive_is_whole_and_of_honest_size(tmp_path):
    path = tmp_path / "x.keras"
    for size in (0, 100, 10**6):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("zeros", b"\0" * size)
        files.check_archive(path)
        content = bytearray(path.read_bytes())
        content[35 + size // 2] ^= 1  # in the name, or in the zeros
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"x\.keras, which cannot"):
            files.check_archive(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * 10**6)
    with pytest.raises(ValueError, match="it would unpack to 1000000 bytes"):
        files.check_archive(path)


@pytest.mark.parametrize(
    "error",
    [
        *(DeprecationWarning("x"), ImportError("x"), MemoryError()),
        *(OSError(errno.EMFILE, "x"), OSError(errno.EACCES, "x")),
    ],
)
def test_what_says_nothing_of_the_file_stays_what_it_is(error):
    with (
        pytest.raises(type(error)) as told,
        files.reading("x.keras", "Needed."),
    ):
        raise error
    assert told.value is error
    assert error.__notes__ == ["x.keras was being read, and may be undamaged."]
    damage = "x.keras, which cannot be used: KeyError: 'y'. Copy it."
    with (
        pytest.raises(ValueError, match=damage),
        files.reading("x.keras", "Needed.", "Copy it."),
    ):
        raise KeyError("y")
