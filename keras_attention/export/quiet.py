"""Silences converters, which log while they work."""

import contextlib
import errno
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

LOGGERS = ("tensorflow", "absl", "tf2onnx")
ONE_AT_A_TIME = threading.RLock()  # streams, levels, models are shared


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what is written to the standard error stream inside the block.

    Converters write there without Python, so the file descriptor is
    redirected too, and what other threads write meanwhile is lost. One thread
    at a time enters. Exceptions pass with their messages. A stream or a
    descriptor that was closed is closed again.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(ONE_AT_A_TIME)
        nothing = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(_redirected(nothing))
        for name in LOGGERS:
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
        stack.enter_context(contextlib.redirect_stderr(nothing))
        yield


@contextlib.contextmanager
def _redirected(nothing: TextIO) -> Iterator[None]:
    """Redirect file descriptor 2 to `nothing`, which may have it already."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()  # there may be none, or a closed one
    try:
        kept = os.dup(2) if nothing.fileno() != 2 else None
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        kept = None  # it is closed
    try:
        os.dup2(nothing.fileno(), 2)
        yield
    finally:
        if kept is not None:
            os.dup2(kept, 2)
            os.close(kept)
        elif nothing.fileno() != 2:
            os.close(2)
