"""From audio to what a model of Morse code reads: spectra, features, ids.

Keras' `STFTSpectrogram` gives 100 spectra a second, each of the 32 ms before.
What a model reads of one is a single number: how far the loudest line between
350 and 950 Hz is above the mean of all lines. It does not depend on the pitch,
nor on the volume. Five of them, 50 ms, are the features of one position, and
the hands of two clocks, of 1.0 and 1.7 seconds, by which the positions of two
equal letters can be told apart.
"""

from collections.abc import Iterable

import keras
import numpy as np
from keras import ops
from morse import CODES
from morse import RATE
from morse import Heard

FRAME, HOP, FRAMES = 128, 40, 5  # samples, samples, frames of one position
SIZE = HOP * FRAMES  # samples of one position
STEP = SIZE / RATE  # seconds of one position
CLOCKS = np.array([1.0, 1.7])  # seconds
HANDS = 2 * len(CLOCKS)
BAND = slice(11, 31)  # of the lines, which are 31.25 Hz apart
START, END = 2, 3
IDS = {letter: id for id, letter in enumerate([" ", *CODES], start=END + 1)}
VOCABULARY_SIZE = END + 1 + len(IDS)
SPECTROGRAM = keras.layers.STFTSpectrogram(
    mode="log",
    frame_length=FRAME,
    frame_step=HOP,
    fft_length=FRAME,
    window=np.hanning(FRAME),
    trainable=False,
)


def spectra(audio: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
    """Compute logarithms of amplitudes: a spectrum for every 40 samples.

    Args:
        audio: Samples `(B, N)`.
        before: The samples before these, `(B, FRAME - HOP)`. Defaults to
            silence.

    Returns:
        Spectra `(B, N // HOP, 65)`; each ends with its own samples, and knows
        nothing of the next.
    """
    if before is None:
        before = np.zeros((len(audio), FRAME - HOP), "float32")
    whole = np.concatenate([before, audio], axis=1)[..., None]
    return ops.convert_to_numpy(SPECTROGRAM(whole))


def features(spectrum: np.ndarray, first: int = 0) -> np.ndarray:
    """Compute the features of spectra.

    Args:
        spectrum: `(B, N, 65)`.
        first: Number of positions that came before.

    Returns:
        Features `(B, N // FRAMES, FRAMES + HANDS)`, those of the clocks last.
    """
    above = spectrum[..., BAND].max(axis=-1) - spectrum.mean(axis=-1)
    rows, count = len(above), above.shape[1] // FRAMES
    above = above[:, : count * FRAMES].reshape(rows, count, FRAMES)
    seconds = STEP * np.arange(first, first + count)
    turns = 2 * np.pi * seconds[:, None] / CLOCKS
    hands = np.concatenate([np.sin(turns), np.cos(turns)], axis=1)
    hands = np.broadcast_to(hands, (rows, count, HANDS))
    both = np.concatenate([above - 1.5, hands], axis=-1)  # 1.5: about the mean
    return both.astype("float32")


def hear(messages: Iterable[Heard]) -> np.ndarray:
    """Compute the features of messages of one length, `(B, Tv, D)`."""
    audio = [message.audio for message in messages]
    parts = [audio[i : i + 64] for i in range(0, len(audio), 64)]
    return np.concatenate([features(spectra(np.stack(x))) for x in parts])


class Ear:
    """Hears audio in pieces of any length, and gives the same features."""

    def __init__(self):
        self.before = np.zeros((1, FRAME - HOP), "float32")
        self.waiting = np.zeros((1, 0), "float32")
        self.count = 0  # positions

    def hear(self, audio: np.ndarray) -> np.ndarray:
        """Return the features `(1, n, D)` of the positions that are complete.

        Args:
            audio: The next samples, `(N,)`.
        """
        waiting = np.concatenate([self.waiting, audio[None]], axis=1)
        count = waiting.shape[1] // SIZE * SIZE
        complete, self.waiting = waiting[:, :count], waiting[:, count:]
        if not count:
            return np.zeros((1, 0, FRAMES + HANDS), "float32")
        found = features(spectra(complete, self.before), self.count)
        self.before = complete[:, -self.before.shape[1] :]
        self.count += found.shape[1]
        return found


def to_ids(texts: list[str]) -> np.ndarray:
    """Turn texts into ids `(N, T)`, with start and end."""
    rows = [[START, *map(IDS.get, text), END] for text in texts]
    longest = max(map(len, rows))
    return np.array([row + [0] * (longest - len(row)) for row in rows])


def to_text(ids: Iterable[int]) -> str:
    """Turn ids into text, up to the end."""
    letters, row = dict(zip(IDS.values(), IDS, strict=True)), map(int, ids)
    text = ""
    for id in row:
        if id == END:
            break
        text += letters.get(id, "?")
    return text


def links(messages: list[Heard], steps: int, positions: int) -> np.ndarray:
    """Return where each character can be known: booleans `(N, steps, Tv)`.

    That is two dits after its last mark, or five for a space. The end of a
    text is linked to nothing: nothing is heard there.
    """
    found = np.zeros((len(messages), steps, positions), bool)
    for row, message in zip(found, messages, strict=True):
        spaces = np.array([letter == " " for letter in message.text])
        known = message.ended + message.dit * np.where(spaces, 5, 2)
        places = np.minimum((known / STEP).astype(int), positions - 1)
        row[np.arange(len(places)), places] = True
    return found
