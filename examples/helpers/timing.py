"""A classical decoder of Morse code: threshold and timing, nothing learned.

The decoder reads the whole message before it decides. The pitch is the loudest
frequency of the spectrum. The tone is on where this frequency is louder than a
third of its maximum nearby, and well above the noise; because the maximum is
local, the threshold follows the fading. The length of a dit is the length for
which all marks and gaps are most likely. The limits between dits and dahs, and
between gaps, adapt to the operator.
"""

import numpy as np
from helpers.ear import BAND
from helpers.ear import HOP
from helpers.ear import spectra
from helpers.morse import LETTERS
from helpers.morse import RATE
from helpers.morse import Heard

REACH = 75  # frames to each side in which the loudest is looked for
CLEAR = np.log(3.3)  # of a mark above the noise, as an amplitude
DITS = np.geomspace(0.03, 0.16, 60)  # seconds
SPREAD = 0.25  # of logarithms of durations


def read(messages: list[Heard]) -> list[str]:
    """Read messages, each by itself."""
    return [decode(spectra(message.audio[None])[0]) for message in messages]


def decode(spectrum: np.ndarray) -> str:
    """Decode one message.

    Args:
        spectrum: Logarithms of amplitudes, `(T, bins)`.

    Returns:
        The text; `?` for what is no letter.
    """
    noise = np.median(spectrum)
    power = np.exp(2 * spectrum[:, BAND]).mean(axis=0)
    line = spectrum[:, BAND][:, np.argmax(power)]
    heard = is_mark(line, noise)
    lengths, kinds = runs(clean(heard))
    if not kinds.any():
        return ""
    first, last = np.flatnonzero(kinds)[[0, -1]]
    lengths, kinds = (
        lengths[first : last + 1] * HOP / RATE,
        kinds[first : last + 1],
    )
    marks, gaps = np.log(lengths[kinds]), np.log(lengths[~kinds])
    dit = most_likely_dit(marks, gaps)
    dahs = classes(marks, np.log(dit) + np.log([1, 3]))
    ends = classes(gaps, np.log(dit) + np.log([1, 3, 7]))
    return spell(dahs, ends)


def is_mark(line: np.ndarray, noise: float) -> np.ndarray:
    """Decide in which frames there is a tone.

    Args:
        line: Logarithms of the amplitude at one pitch, `(T,)`.
        noise: The level of the noise, likewise.

    Returns:
        Boolean `(T,)`.
    """
    padded = np.pad(line, REACH, mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * REACH + 1)
    third = around.max(axis=1) - np.log(3)
    return line > np.maximum(third, noise + CLEAR)


def clean(heard: np.ndarray) -> np.ndarray:
    """Remove marks and gaps of a single frame: the median of three frames."""
    padded = np.pad(heard.astype(int), 1, mode="edge")
    return padded[:-2] + padded[1:-1] + padded[2:] >= 2


def runs(heard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of runs of equal values `(R,)`, and the values."""
    changes = np.flatnonzero(np.diff(heard)) + 1
    borders = np.concatenate([[0], changes, [len(heard)]])
    return np.diff(borders), heard[borders[:-1]]


def most_likely_dit(marks: np.ndarray, gaps: np.ndarray) -> float:
    """Find the dit under which durations are most likely.

    Args:
        marks: Logarithms of the seconds of marks, near 1 or 3 dits.
        gaps: The same of gaps, near 1, 3 or 7 dits.
    """

    def fit(durations, dits):
        apart = durations[:, None, None] - np.log(np.outer(DITS, dits))
        return np.exp(-((apart / SPREAD) ** 2) / 2) @ (1 / np.array(dits))

    likely = [fit(marks, [1, 3]), fit(gaps, [1, 3, 7])]
    logs = np.log(np.concatenate(likely) + 1e-3).sum(axis=0)
    return DITS[np.argmax(logs)]


def classes(durations: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Assign durations to the nearest centre, and centres to their means.

    Args:
        durations: Logarithms of seconds, `(N,)`.
        centres: Where the centres start, `(K,)`; each counts as two durations,
            so that it stays where there are none.

    Returns:
        Indices of centres, `(N,)`.
    """
    means = centres
    for _ in range(5):
        chosen = np.abs(durations[:, None] - means).argmin(axis=1)
        sums = np.bincount(chosen, durations, len(centres)) + 2 * centres
        means = sums / (np.bincount(chosen, minlength=len(centres)) + 2)
    return chosen


def spell(dahs: np.ndarray, ends: np.ndarray) -> str:
    """Spell marks, 0 for a dit, and the gaps between: 1 letter, 2 word."""
    text, code = "", ""
    for dah, end in zip(dahs, [*ends, 1], strict=True):
        code += "-" if dah else "."
        if end:
            text += LETTERS.get(code, "?") + (" " if end == 2 else "")
            code = ""
    return text
