"""A folder of files that are made once, of text, and used again."""

import contextlib
import hashlib
import json
import mmap
import time
import warnings
from collections.abc import Callable
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from keras_attention.files import alone
from keras_attention.files import replaced_file
from keras_attention.files import replaced_folder

MAIN_FILE = "corpus.json"
DIGESTS = "digests"  # a folder for the digests of files, by what `stat` says
SETTLED = 2.0  # seconds after which a change has another time
NAME = 32  # characters of a digest


def cached_folder(
    cache: Path, key: str, write: Callable[[Path], dict]
) -> tuple[Path, dict]:
    """Find a folder in the cache, or write it, whole or not at all.

    Of several processes that want the same folder, one writes it, and the
    others wait. One whose files are not those that were written is written
    again, with a warning that names the file.

    Args:
        cache: The folder of the cache. It is made if missing.
        key: Name of the folder in it, which says all that decides its content.
        write: Writes files into a new folder, and returns what else to keep,
            as JSON can hold it.

    Returns:
        The folder, and what `write` returned.

    Raises:
        OSError: If there is no room, or the cache cannot be written.
    """
    folder = cache / key
    kept = _find(folder)
    if kept is None:
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with alone(cache / f"{key}.lock"):
                kept = _find(folder, warn=True)
                kept = _write(folder, write) if kept is None else kept
        except OSError as error:
            raise OSError(
                error.errno,
                "parallel_dataset needs a `cache` that it can write, and room "
                f"in it. Received: cache={str(cache)!r}: {error.strerror}. "
                "Nothing was left there. Free room, or name another folder",
            ) from error
    return folder, kept


def _find(folder, warn=False):
    """Return what is kept with a folder, or `None` if it must be written."""
    try:
        main = json.loads((folder / MAIN_FILE).read_text("utf-8"))
        files = [folder / name for name in main["sha256"]]
        digests = digest_files(files, folder.parent)
        kept, expected = main["kept"], [*main["sha256"].values()]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        damaged = folder / MAIN_FILE if folder.exists() else None
    else:
        pairs = zip(files, digests, expected, strict=True)
        damaged = next((file for file, x, y in pairs if x != y), None)
        if damaged is None:
            return kept
    if warn and damaged is not None:
        warnings.warn(
            "A file in the `cache` of parallel_dataset is not as it was "
            f"written, and is made again: {damaged}.",
            stacklevel=2,
        )
    return None


def _write(folder, write):
    with replaced_folder(folder, MAIN_FILE) as draft:
        kept = write(draft)
        files = sorted(draft.iterdir())
        with ThreadPoolExecutor() as pool:
            digests = [*pool.map(_sha256, files)]
        names = [file.name for file in files]
        sums = dict(zip(names, digests, strict=True))
        main = {"kept": kept, "sha256": sums}
        (draft / MAIN_FILE).write_text(json.dumps(main, indent=1), "utf-8")
    return kept


def digest_files(files: Iterable[Path], cache: Path) -> list[str]:
    """Return the SHA-256 of files, and read only those that have changed.

    The cache keeps digests by what the system says of a file: its number,
    size, and times of change. A file that has just changed may change again
    within the same time, so its digest is not kept.

    Args:
        files: The files.
        cache: The folder of the cache.

    Returns:
        A hexadecimal digest of each.

    Raises:
        OSError: If one cannot be read.
    """
    with ThreadPoolExecutor() as pool:  # hashing leaves the interpreter free
        return [*pool.map(lambda file: _digest(file, cache), files)]


def _digest(file, cache):
    about = file.stat()
    times = about.st_mtime_ns, about.st_ctime_ns
    known = about.st_dev, about.st_ino, about.st_size, *times
    name = hashlib.sha256(repr(known).encode()).hexdigest()[:NAME]
    settled = time.time() - max(times) / 1e9 > SETTLED
    note = cache / DIGESTS / name
    if settled and note.exists():
        found = note.read_text("utf-8")
        if len(found) == hashlib.sha256().digest_size * 2:
            return found
    found = _sha256(file)
    if settled:
        with contextlib.suppress(OSError):  # others may read, not write
            with replaced_file(note) as draft:
                draft.write_text(found, "utf-8")
    return found


def _sha256(file):
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def map_file(file: Path) -> mmap.mmap | bytes:
    """Map a file into memory, to read where it is used.

    Args:
        file: The file, which nobody may cut off.

    Returns:
        Its content.
    """
    with file.open("rb") as content:
        if not file.stat().st_size:  # cannot be mapped
            return b""
        return mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ)
