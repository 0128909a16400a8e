"""quiet: converters say nothing, errors pass, and all is as before."""

import logging
import os
import sys

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
