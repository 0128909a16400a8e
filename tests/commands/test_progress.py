"""Progress: for people alone."""

import io
import sys

import keras
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.commands.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_counts_on_a_terminal(monkeypatch, kind):
    screen = kind()
    monkeypatch.setattr(sys, "stderr", screen)
    with Progress("sentences") as progress:
        for count in (32, 64, 70):
            progress.show(count)
    said = screen.getvalue()
    if kind is Terminal:
        assert said.startswith("\r32 sentences, ")
        assert said.split("\r")[-1].startswith("70 sentences, ")
        assert said.endswith("\n")
    else:
        assert said == ""
