"""Files and folders that are replaced whole or not at all."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced_file(
    path: str | Path, suffix: str | None = None
) -> Iterator[Path]:
    """Yield a draft that takes the place of a file at the end of the block.

    If the block raises, the file stays as it was.

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
        draft = private / path.name
        yield draft
        draft.replace(path)


@contextlib.contextmanager
def replaced_folder(path: str | Path, made_by: str) -> Iterator[Path]:
    """Yield a draft that takes the place of a folder at the end of the block.

    If the block raises, the folder stays as it was.

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
    if path.exists() and not _is_replaceable(path, made_by):
        raise ValueError(
            f"Will not replace what was not written here: it is no folder, or "
            f"has no `{made_by}`. Received: path={str(path)!r}. Name a new "
            "folder, or remove this one."
        )
    with _private_folder(path.parent) as private:
        draft = private / "new"
        draft.mkdir()
        yield draft
        if path.exists():
            path.rename(private / "old")
        draft.rename(path)


@contextlib.contextmanager
def _private_folder(parent: Path) -> Iterator[Path]:
    """Make a folder for drafts, which only the owner can enter.

    Its name cannot be guessed, so that nobody who shares the parent can put a
    link where a draft will be written. It is gone after the block.
    """
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".draft-", dir=parent, ignore_cleanup_errors=True
    ) as private:
        yield Path(private)


def _is_replaceable(path, made_by):
    if not path.is_dir():
        return False
    return (path / made_by).exists() or not any(path.iterdir())
