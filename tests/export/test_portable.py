"""What an export leaves as it was: layers of the model, streams, levels."""

import errno
import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import pytest
from keras import layers
from tiny import tiny_translator

from keras_attention.export.portable import portable
from keras_attention.export.portable import quiet
from keras_attention.layers import sublayers


class Holder(layers.Layer):
    """Keeps what it is given as attributes."""

    def __init__(self, **kept):
        super().__init__()
        for name, value in kept.items():
            setattr(self, name, value)


def test_every_layer_inside_of_a_layer_is_found_once():
    """In collections, in cells, in each other, in models."""
    dense = [layers.Dense(1, name=f"d{i}") for i in range(7)]
    lstm, inner = layers.RNN([layers.LSTMCell(2)]), Holder(_hidden=dense[0])
    outer = Holder(
        inner=inner,
        several=[dense[1], (dense[2], [dense[3], dense[1]])],
        named={"a": dense[4], "b": {"c": [dense[5]]}},
        unordered={dense[6]},
        other=["no layer", 3, None],
    )
    inner.back = [outer]
    inside = [outer, inner, *dense]
    found = sublayers(outer)
    assert found[0] is outer
    assert sorted(map(id, found)) == sorted(map(id, inside))
    model = keras.Sequential([keras.Input((None, 3)), lstm])
    assert {lstm, lstm.cell, *lstm.cell.cells} <= {*sublayers(model)}


def at_once(*functions):
    with ThreadPoolExecutor(len(functions)) as pool:
        for done in [pool.submit(function) for function in functions]:
            done.result()


def overlap(block):
    """Enter a block in two threads; the second begins before the first ends."""
    inside, leave = threading.Event(), threading.Event()

    def first():
        with block():
            inside.set()
            leave.wait(1)

    def second():
        inside.wait(10)
        threading.Timer(0.1, leave.set).start()
        with block():
            time.sleep(0.2)  # the first one is gone by then

    at_once(first, second)


def test_two_threads_leave_the_model_as_it_was():
    model = tiny_translator().model
    changed = [x for x in sublayers(model) if hasattr(x, "use_cudnn")]
    assert changed
    model.jit_compile = True
    overlap(lambda: portable(model))
    assert model.jit_compile
    assert all(layer.use_cudnn == "auto" for layer in changed)
    model.jit_compile = False


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


def state():
    """What belongs to the process: descriptors, the stream, and the levels."""
    try:
        about = os.fstat(2)
        below = about.st_dev, about.st_ino
    except OSError:
        below = None
    levels = [logging.getLogger(x).level for x in ("tensorflow", "tf2onnx")]
    return below, sys.stderr, levels, sorted(os.listdir("/dev/fd"))


class Gone:
    """A stream of a program without a console."""

    def flush(self):
        raise OSError(9, "Bad file descriptor")

    write = flush


def closed_stream():
    stream = open(os.devnull, "w")
    stream.close()
    return stream


@pytest.mark.parametrize("make", [lambda: None, closed_stream, Gone])
def test_a_stream_that_is_not_there_is_no_fault(monkeypatch, make):
    monkeypatch.setattr(sys, "stderr", make())
    before = state()
    with quiet():
        os.write(2, b"inside")
        print("inside", file=sys.stderr)
    assert state() == before
    with pytest.raises(KeyError, match="thrown"):
        fail()
    assert state() == before


@pytest.mark.parametrize("also", [(), (0,), (0, 1)])
def test_a_closed_descriptor_stays_closed(also):
    """As of daemons: a new file may get the number 2 itself."""
    kept = {number: os.dup(number) for number in (*also, 2)}
    try:
        for number in kept:
            os.close(number)
        before = state()
        with quiet():
            os.write(2, b"inside")
            print("inside", file=sys.stderr)
            assert state() != before
        after = state()
        with pytest.raises(KeyError, match="thrown"):
            fail()
        after_error = state()
    finally:
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)
    assert before[0] is None
    assert after == after_error == before


def test_threads_that_fail_leave_all_as_it_was():
    before = state()
    start = threading.Barrier(4)
    raised = []

    def work():
        start.wait(10)
        for _ in range(50):
            try:
                fail()
            except KeyError as error:
                raised.append(error)

    at_once(*4 * [work])
    assert len(raised) == 200
    assert state() == before


def test_without_free_descriptors_nothing_is_changed(monkeypatch):
    """A descriptor that cannot be kept is not taken for a closed one."""

    def fail(number):
        raise OSError(errno.EMFILE, "Too many open files")

    before = state()
    monkeypatch.setattr(os, "dup", fail)
    with pytest.raises(OSError, match="Too many"), quiet():
        pass
    monkeypatch.undo()
    assert state() == before
