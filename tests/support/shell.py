"""Commands run in this process, and a saved translator to run them on."""

import functools
import io
import sys
import tempfile
from pathlib import Path
from unittest import mock

from seq2seqs import small_model

import keras_attention as ka
from keras_attention.commands import main

LOAD = ka.Translator.load
FOLDER = tempfile.TemporaryDirectory()  # gone when the process ends


@functools.cache
def saved(beams: int = 1) -> Path:
    """Save a translator of digits with random weights, once."""
    digits = ka.CharacterTokenizer("01234")
    options = {"max_length": 6, "forbidden_ids": [0, 1, 2]}
    search = ka.BeamSearch(beams, **options) if beams > 1 else None
    search = search or ka.GreedySearch(**options)
    folder = Path(FOLDER.name) / str(beams)
    ka.Translator(small_model(), digits, digits, search).save(folder)
    return folder


@functools.cache
def saved_list() -> Path:
    """Save the same with a shortlist of two words, 0 and 1."""
    whole = load(str(saved()))
    parts = whole.model, whole.source_tokenizer, whole.target_tokenizer
    rows = [[0]] * whole.model.source_vocabulary_size
    folder = Path(FOLDER.name) / "listed"
    shortlist = ka.Shortlist(rows, [4, 5])
    ka.Translator(*parts, whole.search, shortlist=shortlist).save(folder)
    return folder


@functools.cache
def _loaded(folder: str) -> ka.Translator:
    return LOAD(folder)


def load(folder) -> ka.Translator:
    """Load a translator once."""
    return _loaded(str(folder))


def shell(*words, given=b""):
    """Run a command; return its exit code, output and messages."""
    stdin = io.TextIOWrapper(io.BytesIO(given))
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with (
        mock.patch.object(ka.Translator, "load", load),  # traced once
        mock.patch.object(sys, "stdin", stdin),
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", err),
    ):
        code = main([*map(str, words)])
        out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()
