"""Files that are replaced whole or not at all, and checked; and lines."""

import contextlib
import errno
import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MARK = b"\xef\xbb\xbf"  # of the order of bytes; Windows begins files with it
DRAFT = ".keras_attention-"  # begins the name of a folder for drafts
LOCK, NEW, OLD = "lock", "new", "old"  # what is in it
SEAL = b"0" * 64  # keeps the place of a file's checksum
# Of file systems that cannot, and of Windows, where a file must be writable.
CANNOT_SYNC = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EBADF}
MOST_EXPANSION = 10  # of an archive; Keras does not compress at all
# Of a machine that lets nobody read, whatever the file holds.
OF_MACHINE = {errno.EACCES, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


@contextlib.contextmanager
def replaced_file(
    path: str | Path, suffix: str | None = None
) -> Iterator[Path]:
    """Yield a draft that takes the place of a file at the end of the block.

    If the block raises, the process is killed or the power is cut, the file
    stays as it was.

    Args:
        path: The file to write. Its parents are made.
        suffix: How its name must end, such as `".onnx"`. Defaults to `None`,
            any name.

    Yields:
        The path to write to. Nothing is there yet.

    Raises:
        ValueError: If the name has another ending, or if something else than
            a file stands there.
    """
    path = Path(path)
    if suffix is not None and path.suffix != suffix:
        raise ValueError(
            f"`path` must name a file that ends in `{suffix}`. Received: "
            f"path={str(path)!r}"
        )
    if path.exists() and not path.is_file():
        raise ValueError(
            "Will not replace what is no file. Received: "
            f"path={str(path)!r}. Name a new file, or remove this."
        )
    with _private_folder(path.parent) as private:
        draft = private / NEW / path.name
        yield draft
        _sync_all(draft)
        draft.replace(path)
        _sync(path.parent)


@contextlib.contextmanager
def replaced_folder(path: str | Path, made_by: str) -> Iterator[Path]:
    """Yield a draft that takes the place of a folder at the end of the block.

    If the block raises, the folder stays as it was. If the process is killed
    or the power is cut, the folder stays, or is brought back by the next
    `recover`.

    Args:
        path: The folder to write. Its parents are made.
        made_by: Name of a file in it that shows that this package wrote the
            folder, and may replace it. An empty folder may be replaced too.

    Yields:
        An empty folder to write into.

    Raises:
        ValueError: If something else stands at `path`.
    """
    path = Path(path)
    with _private_folder(path.parent) as private:
        _check_replaceable(path, made_by)
        draft = private / NEW / path.name
        draft.mkdir()
        yield draft
        _sync_all(draft)
        _exchange(draft, path, private / OLD / path.name, made_by)
        _sync(path.parent)


@contextlib.contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """Wait until no other process or thread is in a block of the same name.

    Where files cannot be locked, as on Windows, nobody waits.

    Args:
        path: A file for the lock, which is made and stays.
    """
    with open(path, "ab") as file:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # no locks in this file system
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def open_to_read(
    path: str | Path, folder: str | Path | None = None
) -> BinaryIO:
    """Open a file of bytes, after `check_file`.

    Args:
        path: The file.
        folder: The folder that it belongs to. Defaults to `None`, any.

    Returns:
        The open file.

    Raises:
        OSError: If it cannot be opened, or must not be read.
    """
    check_file(path, folder)
    return open(path, "rb")


def check_file(path: str | Path, folder: str | Path | None = None):
    """Raise an `OSError` for what may never end, or stands for another file.

    Args:
        path: A file that is about to be read.
        folder: The folder that somebody gave us, which it belongs to. A link
            in it could name any file of this machine. Defaults to `None`:
            whoever named the file may read it, wherever links lead.

    Raises:
        OSError: If it is not there, is a pipe or a device, or if a link leads
            out of `folder`.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(
            errno.ESPIPE,
            "pipes and devices cannot be read, since files are read twice",
            str(path),
        )
    if folder is None:
        return
    if not Path(path).resolve().is_relative_to(Path(folder).resolve()):
        raise OSError(
            errno.EPERM,
            f"it is a link to a file that is not in {folder}; copy that file",
            str(path),
        )


@contextlib.contextmanager
def reading(file: str | Path, needed: str, way_out: str = "") -> Iterator[None]:
    """Name a file in an error of the block, which damage may raise.

    Args:
        file: The file, as an error names it.
        needed: A sentence that says who needs what.
        way_out: A sentence that says what to do. Defaults to nothing.

    Raises:
        ValueError: If the block raises an `Exception`; but what tells of the
            program or the machine stays what it is, with a note.
    """
    try:
        yield
    except Exception as error:
        if blames_no_file(error):
            error.add_note(f"{file} was being read, and may well be whole.")
            raise
        reason = f"{type(error).__name__}: {error}"
        raise unusable(file, needed, reason, way_out) from error


def blames_no_file(error: Exception) -> bool:
    """Return whether an error is none of a file that was being read.

    That is a warning that is raised, as by `python -W error`, a package that
    is missing, and what the system has no room or no permission for.
    """
    around = isinstance(error, Warning | ImportError | MemoryError)
    return around or getattr(error, "errno", None) in OF_MACHINE


def unusable(
    file: str | Path, needed: str, reason: object, way_out: str = ""
) -> ValueError:
    """Return the error of a file that cannot be used.

    Args:
        file: The file.
        needed: A sentence that says who needs what.
        reason: What is wrong with it.
        way_out: A sentence that says what to do. Defaults to nothing.
    """
    said = f"{needed} Received: {file}, which cannot be used: {reason}"
    return ValueError(f"{said}. {way_out}" if way_out else said)


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits.

    Args:
        path: The file, no pipe and no device.
    """
    with open_to_read(path) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def recover(path: str | Path):
    """Restore what a process that was killed moved away, and tidy up.

    A folder that was about to be replaced comes back to its place. Drafts of
    killed processes are removed from the parent of `path`; those of living
    processes, of other users, and other folders stay. Where files cannot be
    locked, as on Windows, nothing is done.

    Args:
        path: A file or a folder that `replaced_file` or `replaced_folder`
            writes.
    """
    for private in Path(path).parent.glob(f"{DRAFT}*"):
        with _hold(private) as held:
            if held:
                _settle(private)


def seal(file: Path):
    """Write the SHA-256 of a file's other bytes to its last 64 bytes.

    Args:
        file: A file. If it ends with `SEAL`, the checksum takes its place;
            else it follows.
    """
    with file.open("r+b") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - len(SEAL)))
        if content.read() == SEAL:
            content.truncate(size - len(SEAL))
        content.seek(0)
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        content.seek(0, os.SEEK_END)
        content.write(digest.encode())


AS_WRITTEN = "What was saved or exported must be as it was written."
WRITE_AGAIN = "Copy or write it again."


def check_seal(file: Path):
    """Raise a `ValueError` unless a file is as it was when it was sealed.

    Args:
        file: The file.
    """
    with open_to_read(file) as opened:
        content = memoryview(opened.read())
    digest = hashlib.sha256(content[: -len(SEAL)]).hexdigest()
    if bytes(content[-len(SEAL) :]) != digest.encode():
        _fail(file, "its last 64 bytes are not the SHA-256 of the others")


def check_archive(file: Path):
    """Raise a `ValueError` unless a ZIP archive is whole and of honest size.

    Args:
        file: The archive.
    """
    with reading(file, AS_WRITTEN, WRITE_AGAIN):
        with open_to_read(file) as content, zipfile.ZipFile(content) as archive:
            size = sum(member.file_size for member in archive.infolist())
            honest = size <= MOST_EXPANSION * file.stat().st_size
            damaged = archive.testzip() if honest else None
    if not honest:
        _fail(file, f"it would unpack to {size} bytes")
    if damaged is not None:
        _fail(file, f"the CRC-32 of its member {damaged!r} is wrong")


# Drafts.


@contextlib.contextmanager
def _private_folder(parent: Path) -> Iterator[Path]:
    """Make a folder for drafts, which only the owner can enter.

    Its name cannot be guessed, so that nobody who shares the parent can put a
    link where a draft will be written. It is locked as long as the process
    lives, and gone after the block. Drafts lie in the folder `new`, and what
    they replace in `old`, under the names that they have outside.
    """
    parent.mkdir(parents=True, exist_ok=True)
    recover(parent / NEW)
    private = Path(tempfile.mkdtemp(prefix=DRAFT, dir=parent))
    begun = private / "begun"
    with open(begun, "xb") if fcntl else contextlib.nullcontext() as file:
        try:
            if _lock(file):  # before others look for it
                begun.rename(private / LOCK)
            for name in (NEW, OLD):
                (private / name).mkdir()
            yield private
        finally:
            _settle(private)


@contextlib.contextmanager
def _hold(private: Path) -> Iterator[bool]:
    """Lock a folder for drafts, unless it is in use or somebody else's."""
    try:
        about = private.lstat()
        own = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
        closed = not about.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        file = open(private / LOCK, "r+b") if own and closed else None
    except (OSError, AttributeError):  # just gone; Windows has no `geteuid`
        file = None
    with file or contextlib.nullcontext():
        yield file is not None and _lock(file)


def _lock(file: BinaryIO) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # it is locked, or this file system has no locks
        return False
    return True


def _settle(private: Path):
    """Undo a replacement that was not finished, and remove its folder.

    As long as the draft is there, what it replaces is not replaced yet.
    """
    for old in (private / OLD).glob("*"):
        path = private.parent / old.name
        if (private / NEW / old.name).exists() and _is_free(path):
            try:
                old.rename(path)
            except OSError:  # keep it where it is
                return
    for folder in (private / NEW, private / OLD, private):
        shutil.rmtree(folder, ignore_errors=True)


def _sync_all(path: Path):
    """Wait until the disk has a file, or a folder and all that is in it.

    Else its new name could be there after a cut of power, and not its content.
    """
    inside = path.rglob("*") if path.is_dir() else ()
    for part in (*inside, path):
        _sync(part)


def _sync(path: Path):
    """Wait until the disk has a file, or the names in a folder."""
    try:
        number = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
    finally:
        os.close(number)


def _exchange(draft: Path, path: Path, old: Path, made_by: str):
    """Move a draft to its place; another process may do the same meanwhile."""
    while True:
        _check_replaceable(path, made_by)
        shutil.rmtree(old, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            path.rename(old)
        try:
            draft.rename(path)
            return
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise


def _check_replaceable(path, made_by):
    if not _is_free(path, made_by):
        raise ValueError(
            "Will not replace what was not written here, without a "
            f"`{made_by}`. Received: path={str(path)!r}. Name a new folder, or "
            "remove this."
        )


def _is_free(path, made_by=None):
    """Whether nothing, an empty folder, or one with a mark stands there."""
    try:
        names = os.listdir(path)  # in one step: others may move it
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False
    return not names or made_by in names


def _fail(file, reason):
    raise unusable(file, AS_WRITTEN, reason, WRITE_AGAIN)


# Lines.


def bare_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    r"""Strip the lines of a stream of what is not text.

    Args:
        lines: All its lines, which end with `\n` or `\r\n`.

    Yields:
        The lines, without their ends and without a byte order mark.
    """
    for number, line in enumerate(lines):
        line = line if number else line.removeprefix(MARK)
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def split_in_parts(
    items: Iterable, size_of: Callable[[Any], int], most: int, room: int
) -> Iterator[list]:
    """Split items into parts of bounded memory, padded or not.

    Args:
        items: Such as texts, in any number.
        size_of: Returns the size of an item.
        most: The number of items in a part, at most.
        room: What the items of a part may take together, if each takes as
            much as the largest of them. A larger item is a part by itself.

    Yields:
        The parts, in order, each as soon as it is full.
    """
    part, largest = [], 0
    for item in items:
        size = size_of(item)
        if part and (len(part) + 1) * max(largest, size) > room:
            yield part
            part, largest = [], 0
        part.append(item)
        largest = max(largest, size)
        if len(part) == most:
            yield part
            part, largest = [], 0
    if part:
        yield part
