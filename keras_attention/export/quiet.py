"""Silences converters, which log while they work."""

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterator

LOGGERS = ("tensorflow", "absl", "tf2onnx")
ONE_AT_A_TIME = threading.RLock()  # streams and levels belong to the process


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what is written to the standard error stream inside the block.

    Converters write there without Python, so the file descriptor is
    redirected too, and what other threads write meanwhile is lost. One thread
    at a time enters. Exceptions pass with their messages.
    """
    with ONE_AT_A_TIME:
        loggers = [logging.getLogger(name) for name in LOGGERS]
        levels = [logger.level for logger in loggers]
        sys.stderr.flush()
        kept = os.dup(2)
        try:
            with open(os.devnull, "w") as nothing:
                os.dup2(nothing.fileno(), 2)
                for logger in loggers:
                    logger.setLevel(logging.CRITICAL)
                with contextlib.redirect_stderr(nothing):
                    yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            os.dup2(kept, 2)
            os.close(kept)
