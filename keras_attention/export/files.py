"""One file that is replaced whole or not at all."""

import contextlib
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
