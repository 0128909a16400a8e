"""Files and folders that are replaced whole or not at all."""

import contextlib
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced_file(path: str | Path, suffix: str) -> Iterator[Path]:
    """Give a path to write that takes the place of `path` at the end.

    If the block raises, `path` stays as it was.

    Args:
        path: The file to write. Its parents are made.
        suffix: How its name must end, such as `".onnx"`.

    Yields:
        Where to write, beside `path`.

    Raises:
        ValueError: If the name ends otherwise, or is that of no file.
    """
    path = Path(path)
    if path.suffix != suffix:
        raise ValueError(
            f"`path` must name a file that ends in `{suffix}`. Received: "
            f"path={str(path)!r}"
        )
    if path.exists() and not path.is_file():
        raise ValueError(
            "Will not replace what is no file. Received: "
            f"path={str(path)!r}. Name a new file, or remove this."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{uuid.uuid4().hex}{suffix}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def replaced_folder(path: str | Path, made_by: str) -> Iterator[Path]:
    """Give an empty folder that takes the place of `path` at the end.

    If the block raises, `path` stays as it was.

    Args:
        path: The folder to write. Its parents are made.
        made_by: Name of the file that tells that a folder may be replaced,
            because this package wrote it.

    Yields:
        The folder to write into, beside `path`.

    Raises:
        ValueError: If something else stands at `path`.
    """
    path = Path(path)
    if path.exists() and not _is_replaceable(path, made_by):
        raise ValueError(
            f"Will not replace what was not written here: it is no folder, or "
            f"has no `{made_by}`. Received: path={str(path)!r}. Name a new "
            "folder, or remove this one."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex
    new = path.with_name(f".{path.name}.{mark}.new")
    old = path.with_name(f".{path.name}.{mark}.old")
    new.mkdir()
    try:
        yield new
        if path.exists():
            path.rename(old)
        new.rename(path)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _is_replaceable(path, made_by):
    if not path.is_dir():
        return False
    return (path / made_by).exists() or not any(path.iterdir())
