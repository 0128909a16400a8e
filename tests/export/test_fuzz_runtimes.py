"""Hostile texts through a LiteRT file, alone and together.

`HOSTILE_TEXTS=100000` in the environment takes so many of them.
"""

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hostile import hostile_texts
from memory import most_kilobytes

pytestmark = pytest.mark.slow

DATES = Path(__file__).parents[2] / "saved_models/dates/translator.tflite"
VALID = ["1. März 2021", "12/31/99", "2024년 2월 29일", "May 5"]
COUNT = int(os.environ.get("HOSTILE_TEXTS", "650"))
CHUNK, SIZE, LIMIT = 520, 32, 64
MOST_GROWTH = 100_000  # kilobytes, after the first chunk


def chunks():
    """Draw hostile texts, each chunk with others and with an ordinary one."""
    for n in range(0, COUNT, CHUNK):
        texts = hostile_texts(min(CHUNK, COUNT - n), VALID, seed=n)
        texts[::SIZE] = [VALID[0].encode()] * len(texts[::SIZE])
        yield texts


def check_rows(translate):
    """Assert that no row notices the others, and that memory is bounded.

    Args:
        translate: Function from a list of texts, as bytes, to arrays with one
            row each.
    """
    begin = None
    for texts in chunks():
        batches = [texts[i : i + SIZE] for i in range(0, len(texts), SIZE)]
        together = [row for batch in batches for row in translate(batch)]
        assert len(together) == len(texts)
        assert len({str(row) for row in together[::SIZE]}) == 1
        for i in random.Random(0).sample(range(len(texts)), 8):
            (alone,) = translate(texts[i : i + 1])
            np.testing.assert_array_equal(alone, together[i], str(texts[i]))
        used = most_kilobytes()
        begin = begin or used
    assert used - begin < MOST_GROWTH


def test_litert():
    litert_translate = pytest.importorskip("litert_translate")
    translate = litert_translate.load(DATES)

    def run(texts):  # an app has to cut texts: time grows as their square
        return translate([x.decode(errors="replace")[:LIMIT] for x in texts])

    assert run([VALID[0].encode()]) == ["2021-03-01"]
    check_rows(run)
