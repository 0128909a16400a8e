"""Audio that is read while it still comes in, and a picture of it."""

import time
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

import numpy as np
from helpers.ear import SIZE
from helpers.ear import STEP
from helpers.ear import Ear
from helpers.ear import features
from helpers.ear import spectra
from helpers.ear import to_text
from helpers.morse import RATE
from helpers.morse import Heard
from keras import ops

from keras_attention import GreedySearch
from keras_attention import Seq2Seq
from keras_attention.extras import require

CHUNK = 0.05  # seconds
SHOWN = 40  # characters in a picture, at most


class Reading(NamedTuple):
    """What was read live.

    Attributes:
        text: The text.
        times: For each character the second at which it came, from the
            beginning of the audio; `inf` for those that its end brought.
        work: Seconds of computing.
    """

    text: str
    times: list[float]
    work: float


def read_live(model: Seq2Seq, audio: np.ndarray) -> Reading:
    """Read samples `(N,)` in chunks, as they would come from a microphone.

    Args:
        model: A model whose attention is hard.
        audio: The samples.

    Returns:
        A `Reading`. A character comes when its chunk has been heard and read.
    """
    longest = max(1, len(audio) // SIZE)  # a character a position
    ear, stream = Ear(), model.stream(max_length=longest)
    text, times, work = "", [], 0.0
    size = round(CHUNK * RATE)
    for end in range(size, len(audio) + size, size):
        began = time.perf_counter()
        (ids,) = stream.push(ear.hear(audio[end - size : end]))
        took = time.perf_counter() - began
        text, work = text + to_text(ids), work + took
        times += [end / RATE + took] * (len(text) - len(times))
    text += to_text(stream.end()[0])
    return Reading(text, times + [np.inf] * (len(text) - len(times)), work)


def delays(reading: Reading, message: Heard) -> list[float]:
    """Compute how long after its last mark each letter came, if it is right."""
    matcher = SequenceMatcher(None, reading.text, message.text, autojunk=False)
    pairs = [
        (block.a + i, block.b + i)
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
    ]
    return [
        float(reading.times[here] - message.ended[there])
        for here, there in pairs
        if message.text[there] != " " and reading.times[here] < np.inf
    ]


def draw(model: Seq2Seq, message: Heard, reading: Reading, file: Path):
    """Draw spectrogram, attention, and when each character was read.

    Args:
        model: The model that has read.
        message: What was heard.
        reading: What was read live.
        file: Where to write the picture.
    """
    figure = require("matplotlib.figure", "plots", "read_morse.py")
    spectrum = spectra(message.audio[None])
    heard = features(spectrum)
    search = GreedySearch(max_length=heard.shape[1])
    found = model.generate(heard, search)
    letters = list(to_text(ops.convert_to_numpy(found.tokens)[0, 0]))[:SHOWN]
    weights = ops.convert_to_numpy(found.weights)[0, 0, : len(letters)]
    seconds = len(message.audio) / RATE
    page = figure.Figure((11, 7.5), dpi=120, layout="constrained")
    top, below = page.subplots(2, 1, sharex=True, height_ratios=[1, 2.4])
    top.imshow(
        spectrum[0].T,
        cmap="magma",
        aspect="auto",
        origin="lower",
        extent=(0, seconds, 0, RATE / 2),
    )
    top.set_ylabel("Hz")
    top.set_ylim(200, 1200)
    top.set_title(f"Keyed: {message.text}\nRead: {reading.text}", loc="left")
    positions = weights.shape[1] * STEP
    below.imshow(
        weights,
        cmap="gray",
        aspect="auto",
        vmin=0,
        vmax=1,
        extent=(0, positions, len(letters) - 0.5, -0.5),
    )
    times = reading.times[:SHOWN]
    marks = {"color": "tab:red", "markersize": 14, "markeredgewidth": 2}
    below.plot(times, range(len(times)), "|", label="read live", **marks)
    below.set_yticks(
        range(len(letters)), [x.replace(" ", "␣") for x in letters]
    )
    below.set_xlim(0, seconds)
    below.set_xlabel("seconds")
    below.legend(loc="upper right")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(file)
