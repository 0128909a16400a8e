"""From audio to what a model of Morse code reads: spectra, features, ids.

Keras' `STFTSpectrogram` computes 100 spectra per second, each over the previous
32 ms. From each spectrum, the model reads a single number: by how much the
loudest frequency between 350 and 950 Hz exceeds the mean of all frequencies.
This number depends neither on the pitch nor on the volume. Five numbers, for 50
ms, are the features of one position.
"""

from collections.abc import Iterable

import keras
import numpy as np
from helpers.morse import CODES
from helpers.morse import RATE
from helpers.morse import Heard
from keras import ops

FRAME, HOP, FRAMES = 128, 40, 5  # samples, samples, frames of one position
SIZE = HOP * FRAMES  # samples of one position
STEP = SIZE / RATE  # seconds of one position
BAND = slice(11, 31)  # of the lines, which are 31.25 Hz apart
NOTHING, START, END = 1, 2, 3
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


def features(spectrum: np.ndarray) -> np.ndarray:
    """Compute the features of spectra `(B, N, 65)`: `(B, N // FRAMES, 5)`."""
    above = spectrum[..., BAND].max(axis=-1) - spectrum.mean(axis=-1)
    rows, count = len(above), above.shape[1] // FRAMES
    above = above[:, : count * FRAMES].reshape(rows, count, FRAMES)
    return (above - 1.5).astype("float32")  # 1.5 is about the mean


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

    def hear(self, audio: np.ndarray) -> np.ndarray:
        """Return the features `(1, n, D)` of the positions that are complete.

        Args:
            audio: The next samples, `(N,)`.
        """
        waiting = np.concatenate([self.waiting, audio[None]], axis=1)
        count = waiting.shape[1] // SIZE * SIZE
        complete, self.waiting = waiting[:, :count], waiting[:, count:]
        if not count:
            return np.zeros((1, 0, FRAMES), "float32")
        found = features(spectra(complete, self.before))
        self.before = complete[:, -self.before.shape[1] :]
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


def names(messages: list[Heard], positions: int) -> np.ndarray:
    """Return what each position is called, ids `(N, positions)`.

    A character is named where it can be known, two dits after its last mark,
    or five for a space. All other positions are called `NOTHING`.
    """
    found = np.full((len(messages), positions), NOTHING)
    for row, message in zip(found, messages, strict=True):
        spaces = np.array([letter == " " for letter in message.text])
        known = message.ended + message.dit * np.where(spaces, 5, 2)
        at = np.minimum((known / STEP).astype(int), positions - 1)
        row[at] = [IDS[letter] for letter in message.text]
    return found


def begins(heard: np.ndarray) -> np.ndarray:
    """Return where a character begins to be heard.

    Args:
        heard: What is heard at each position, ids `(N, Tv)`.

    Returns:
        Booleans `(N, Tv)`.
    """
    before = np.pad(heard[:, :-1], ((0, 0), (1, 0)), constant_values=NOTHING)
    return (heard != before) & (heard > END)


def places(heard: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return where each character begins to be heard.

    Args:
        heard: What is heard at each position, ids `(N, Tv)`.
        ids: What was keyed, ids `(N, T)`.

    Returns:
        Booleans `(N, T, Tv)`. A message that is not heard as it was keyed, and
        the end of a text, have no place.
    """
    found = np.zeros((*ids.shape, heard.shape[1]), bool)
    starts = begins(heard)
    for place, start, row, told in zip(found, starts, heard, ids, strict=True):
        (at,) = np.nonzero(start)
        if row[at].tolist() == told[told > END].tolist():
            place[np.arange(len(at)), at] = True
    return found
