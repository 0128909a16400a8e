"""quiet: converters say nothing, errors pass, and all is as before."""

import logging
import os
import sys
import threading
import time

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.export.quiet import quiet


def say(text):
    print(text, file=sys.stderr, flush=True)
    os.write(2, f"{text} from below\n".encode())
    logging.getLogger("tf2onnx").error(text)


def test_says_nothing_inside_and_all_outside(capfd):
    say("before")
    with quiet():
        say("inside")
    say("after")
    said = capfd.readouterr().err
    assert "before from below" in said
    assert "after from below" in said
    assert "inside" not in said


def fail():
    with quiet():
        fail_loudly()


def fail_loudly():
    assert not logging.getLogger("tensorflow").isEnabledFor(logging.ERROR)
    raise KeyError("thrown")


def test_errors_pass_and_levels_come_back(capfd):
    logger = logging.getLogger("tensorflow")
    logger.setLevel(logging.WARNING)
    with pytest.raises(KeyError, match="thrown"):
        fail()
    assert logger.level == logging.WARNING
    os.write(2, b"after")
    assert "after" in capfd.readouterr().err


def test_two_threads_leave_all_as_it_was(capfd):
    """The second one begins before the first one ends."""
    logger, stream = logging.getLogger("tensorflow"), sys.stderr
    level, inside, leave = logger.level, threading.Event(), threading.Event()

    def first():
        with quiet():
            inside.set()
            leave.wait(1)

    def second():
        inside.wait(10)
        threading.Timer(0.2, leave.set).start()
        with quiet():
            time.sleep(0.5)  # the first one is gone by then

    threads = [threading.Thread(target=f) for f in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.stderr is stream
    assert logger.level == level
    os.write(2, b"after")
    assert "after" in capfd.readouterr().err
