"""Cache folders of files that are computed from text."""

import contextlib
import hashlib
import json
import os
import shutil
import time
import warnings
from collections import deque
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from keras_attention.files import alone
from keras_attention.files import blames_no_file
from keras_attention.files import check_file
from keras_attention.files import open_to_read
from keras_attention.files import replaced_file
from keras_attention.files import replaced_folder
from keras_attention.files import sha256_of

MAIN_FILE = "corpus.json"
DIGESTS = "digests"  # a folder for the digests of files, by what `stat` says
SETTLED = 2.0  # seconds after which a change has another time
NAME = 32  # characters of a digest in the name of a file or a folder
DIGEST = 64  # characters of a digest
# What damaged JSON raises; deeply nested brackets end in the last of them.
UNUSABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError),
    RecursionError,
)


class Cache:
    """A folder of folders, each of which is written once and never changed.

    Damaged folders are removed and created again, with a warning that names
    them. Nobody else may write to this folder: any path with a name of the
    cache is treated as its own.

    Args:
        path: The folder, which is created if missing.

    Raises:
        ValueError: If it is not the name of a folder.
    """

    def __init__(self, path: str | Path):
        usable = isinstance(path, str | Path) and str(path)
        if not usable or (Path(path).exists() and not Path(path).is_dir()):
            raise ValueError(
                "`cache` must name a folder. Received: "
                f"cache={path!r}. Pass the path of a folder, or leave it out."
            )
        self.path = Path(path)

    @contextlib.contextmanager
    def folder(self, key: str, names: Collection[str]) -> Iterator[Path | None]:
        """Yield a temporary folder, or `None` if the folder exists.

        At the end of the block, the folder exists completely or, if the block
        raises an error, not at all. If several processes need the same folder,
        one writes it, and the others wait.

        Args:
            key: The name of the folder, which identifies its content.
            names: The names of the files that the block writes to the temporary
                folder.

        Yields:
            An empty folder to write to, or `None`.

        Raises:
            OSError: If the disk is full, or the cache cannot be written.
        """
        folder, lock = self.path / key, self.path / f"{key}.lock"
        if self._find_damage(folder, names) is None:
            yield None
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if lock.exists() and not lock.is_file():
                _remove_damaged(lock)
            with alone(lock):
                damaged = self._find_damage(folder, names)
                if damaged is None:  # another process has written it
                    yield None
                    return
                if os.path.lexists(folder):
                    _remove_damaged(damaged, folder)
                with replaced_folder(folder, MAIN_FILE) as draft:
                    yield draft
                    digests = in_threads(sha256_of, (draft / x for x in names))
                    main = {"sha256": dict(zip(names, digests, strict=True))}
                    text = json.dumps(main, indent=1)
                    (draft / MAIN_FILE).write_text(text, "utf-8")
        except OSError as error:
            raise OSError(
                error.errno,
                "parallel_dataset needs a writable `cache` with enough space. "
                f"Received: cache={str(self.path)!r}: "
                f"{error.strerror}. Nothing was written. Free some space, or "
                "pass another folder",
            ) from error

    def _find_damage(self, folder, names):
        """Return a path that has changed since it was written, or `None`."""
        main = folder / MAIN_FILE
        files = [folder / name for name in names]
        try:
            for file in files:
                check_file(file, self.path)
            with open_to_read(main, self.path) as content:
                wanted = json.load(content)["sha256"]
            if wanted.keys() != {*names}:
                return main
            digests = zip(files, self.digests(files), strict=True)
            changed = (x for x, digest in digests if digest != wanted[x.name])
            return next(changed, None)
        except UNUSABLE as error:
            if blames_no_file(error):
                raise
            return getattr(error, "filename", None) or main

    def digests(self, texts: Iterable[Path | list[str]]) -> list[str]:
        """Return the SHA-256 of texts, and read only files that have changed.

        The cache stores digests by the metadata of a file: its number, size,
        and modification times. A file that has just changed can change again
        within the resolution of these times, so its digest is not stored.

        Args:
            texts: Files, or JSON-compatible values.

        Returns:
            The hexadecimal digest of each.

        Raises:
            OSError: If a file cannot be read.
        """
        return [*in_threads(self._digest, texts)]

    def _digest(self, file):
        if not isinstance(file, Path):
            return digest_of(file)
        about = file.stat()
        times = about.st_mtime_ns, about.st_ctime_ns
        known = about.st_dev, about.st_ino, about.st_size, *times
        note = self.path / DIGESTS / digest_of(known)[:NAME]
        settled = time.time() - max(times) / 1e9 > SETTLED
        digest = _read_note(note) if settled else None
        if digest is None:
            digest = sha256_of(file)
            if settled:
                text = digest + digest_of([note.name, digest])
                # Others may only read.
                with contextlib.suppress(OSError), replaced_file(note) as draft:
                    draft.write_text(text)
        return digest


def _read_note(note):
    """Return a saved digest, or `None`."""
    try:
        with open_to_read(note, note.parent.parent) as file:
            text = file.read(2 * DIGEST + 1).decode()
        digest, check = text[:DIGEST], text[DIGEST:]
        if check == digest_of([note.name, digest]):
            return digest
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        if blames_no_file(error):
            return None
    folder = note.parent
    inside = folder.is_dir() and not folder.is_symlink()
    with contextlib.suppress(OSError):
        _remove_damaged(note if inside else folder)
    return None


def _remove_damaged(path: Path, whole: Path | None = None):
    """Warn about a damaged path, and remove it with everything related."""
    warnings.warn(
        "A file in the `cache` of parallel_dataset has changed since it was "
        f"written, and is created again: {path}.",
        stacklevel=2,
    )
    whole = whole or path
    if whole.is_dir() and not whole.is_symlink():
        shutil.rmtree(whole)
    else:
        whole.unlink(missing_ok=True)


def digest_of(content: Any) -> str:
    """Return the SHA-256 of a JSON-compatible value, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def in_threads(function: Callable, items: Iterable) -> Iterator:
    """Map items in order with all cores, reading only a few items ahead.

    Args:
        function: A function that releases the interpreter, such as a digest.
        items: Its arguments.

    Yields:
        Its results.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    waiting = deque()
    with ThreadPoolExecutor(cores) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
