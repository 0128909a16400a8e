"""Replace files completely or not at all, and verify them; split lines."""

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
    """Yield a temporary path that replaces a file at the end of the block.

    If the block raises an error, the process is killed or the power fails,
    the file is unchanged.

    Args:
        path: The file to write. Its parent folders are created.
        suffix: The required extension, such as `".onnx"`. Defaults to `None`,
            any name.

    Yields:
        The path to write to. There is no file yet.

    Raises:
        ValueError: If the name has another extension, or if the path exists
            and is not a file.
    """
    path = Path(path)
    if suffix is not None and path.suffix != suffix:
        raise ValueError(
            f"`path` must have the extension `{suffix}`. Received: "
            f"path={str(path)!r}"
        )
    if path.exists() and not path.is_file():
        raise ValueError(
            "`path` exists and is not a file. Received: "
            f"path={str(path)!r}. Choose another path, or remove it."
        )
    with _private_folder(path.parent) as private:
        draft = private / NEW / path.name
        yield draft
        _sync_all(draft)
        draft.replace(path)
        _sync(path.parent)


@contextlib.contextmanager
def replaced_folder(path: str | Path, made_by: str) -> Iterator[Path]:
    """Yield a temporary folder that replaces a folder at the end of the block.

    If the block raises an error, the folder is unchanged. If the process is
    killed or the power fails, the folder is unchanged, or the next `recover`
    restores it.

    Args:
        path: The folder to write. Its parent folders are created.
        made_by: Name of a file that shows that this package wrote the folder,
            so that it may be replaced. An empty folder may be replaced, too.

    Yields:
        An empty folder to write to.

    Raises:
        ValueError: If something else exists at `path`.
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
    """Wait until no other process or thread is in a block with the same path.

    If files cannot be locked, as on Windows, this does not wait.

    Args:
        path: The lock file, which is created and kept.
    """
    with open(path, "ab") as file:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # no locks in this file system
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def open_to_read(
    path: str | Path, folder: str | Path | None = None
) -> BinaryIO:
    """Open a binary file after `check_file`.

    Args:
        path: The file.
        folder: The folder that must contain it. Defaults to `None`, any
            folder.

    Returns:
        The open file.

    Raises:
        OSError: If it cannot be opened, or must not be read.
    """
    check_file(path, folder)
    return open(path, "rb")


def check_file(path: str | Path, folder: str | Path | None = None):
    """Raise an `OSError` for files that are unsafe to read.

    Args:
        path: A file to be read.
        folder: The folder from the user that must contain it, because a link
            in a folder could refer to any file on the machine. Defaults to
            `None`: the user named the file directly, and may follow links.

    Raises:
        OSError: If the file does not exist, is a pipe or a device, which may
            never end, or is a link to outside of `folder`.
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
            f"it is a link to a file outside of {folder}; copy that file",
            str(path),
        )


@contextlib.contextmanager
def reading(file: str | Path, needed: str, way_out: str = "") -> Iterator[None]:
    """Name a file in errors of the block, which damage can cause.

    Args:
        file: The file, as an error names it.
        needed: A sentence that describes the requirement.
        way_out: A sentence that describes the solution. Defaults to nothing.

    Raises:
        ValueError: If the block raises an `Exception`. Errors of the program
            or the machine keep their type, with a note.
    """
    try:
        yield
    except Exception as error:
        if blames_no_file(error):
            error.add_note(f"{file} was being read, and may be undamaged.")
            raise
        reason = f"{type(error).__name__}: {error}"
        raise unusable(file, needed, reason, way_out) from error


def blames_no_file(error: Exception) -> bool:
    """Return whether an error is not caused by the file that was being read.

    Such errors are warnings that are raised, as with `python -W error`,
    missing packages, and system errors, such as a full disk or missing
    permissions.
    """
    around = isinstance(error, Warning | ImportError | MemoryError)
    return around or getattr(error, "errno", None) in OF_MACHINE


def unusable(
    file: str | Path, needed: str, reason: object, way_out: str = ""
) -> ValueError:
    """Return the error for a file that cannot be used.

    Args:
        file: The file.
        needed: A sentence that describes the requirement.
        reason: What is wrong with the file.
        way_out: A sentence that describes the solution. Defaults to nothing.
    """
    said = f"{needed} Received: {file}, which cannot be used: {reason}"
    return ValueError(f"{said}. {way_out}" if way_out else said)


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits.

    Args:
        path: The file, not a pipe or a device.
    """
    with open_to_read(path) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def recover(path: str | Path):
    """Restore what a killed process moved away, and remove its files.

    A folder that was being replaced is restored. Temporary folders of killed
    processes are removed from the parent of `path`; those of running
    processes and of other users, and other folders are kept. If files cannot
    be locked, as on Windows, nothing is done.

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
        file: A file. If it ends with `SEAL`, the checksum replaces it;
            otherwise, the checksum is appended.
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


AS_WRITTEN = "Saved and exported files must be unchanged."
WRITE_AGAIN = "Copy or create it again."


def check_seal(file: Path):
    """Raise a `ValueError` if a file has changed since it was sealed.

    Args:
        file: The file.
    """
    with open_to_read(file) as opened:
        content = memoryview(opened.read())
    digest = hashlib.sha256(content[: -len(SEAL)]).hexdigest()
    if bytes(content[-len(SEAL) :]) != digest.encode():
        _fail(file, "its last 64 bytes are not the SHA-256 of the rest")


def check_archive(file: Path):
    """Raise a `ValueError` unless a ZIP archive is complete and not a ZIP bomb.

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
    """Create a folder for temporary files that only the owner can enter.

    Its name cannot be guessed, so that other users of the parent folder
    cannot place a link at the path of a temporary file. It is locked while
    the process lives, and removed after the block. New files are in its
    folder `new`, and replaced files in `old`, with their original names.
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
    """Lock a temporary folder, unless it is in use or of another user."""
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
    """Undo an unfinished replacement, and remove its folder.

    If the temporary file still exists, the replacement was not finished.
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
    """Flush a file, or a folder and its contents, to disk.

    Otherwise, after a power failure its new name could exist without its
    content.
    """
    inside = path.rglob("*") if path.is_dir() else ()
    for part in (*inside, path):
        _sync(part)


def _sync(path: Path):
    """Flush a file, or the names in a folder, to disk."""
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
    """Move a temporary file into place; other processes may do so, too."""
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
            "`path` exists and was not written by this package, because it has "
            f"no `{made_by}`. Received: path={str(path)!r}. Choose another "
            "folder, or remove it."
        )


def _is_free(path, made_by=None):
    """Return whether a path does not exist, or may be replaced."""
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
    r"""Remove line endings and a byte order mark from the lines of a stream.

    Args:
        lines: All its lines, which end with `\n` or `\r\n`.

    Yields:
        The lines.
    """
    for number, line in enumerate(lines):
        line = line if number else line.removeprefix(MARK)
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def split_in_parts(
    items: Iterable, size_of: Callable[[Any], int], most: int, room: int
) -> Iterator[list]:
    """Split items into parts that need limited memory, padded or not.

    Args:
        items: Any number of items, such as texts.
        size_of: Function that returns the size of an item.
        most: Maximum number of items in a part.
        room: Maximum size of a part, if every item is as large as the largest
            item in it. A larger item is a part by itself.

    Yields:
        The parts in order, each as soon as it is complete.
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
