"""Messages in Morse code, and how much of them was read wrongly."""

import numpy as np
from helpers.morse import Heard
from helpers.morse import heard


def make_messages(
    count: int,
    seconds: float,
    seed: int,
    snr: tuple[float, float] = (0, 25),
    speed: tuple[float, float] = (10, 30),
    held_out: bool = False,
    shortest: float | None = None,
) -> list[Heard]:
    """Make messages with ratios of signal to noise, and speeds, in a range.

    Args:
        count: Their number.
        seconds: Length of the audio.
        seed: Seed of all that is random.
        snr: The lowest and the highest ratio, in dB.
        speed: The lowest and the highest speed, in words a minute.
        held_out: Whether the words are those of the test.
        shortest: As of `heard`.
    """
    random = np.random.default_rng(seed)
    return [
        heard(
            random,
            random.uniform(*snr),
            random.uniform(*speed),
            seconds,
            held_out,
            shortest,
        )
        for _ in range(count)
    ]


def edits(found: str, wanted: str) -> int:
    """Count the insertions, deletions and replacements between two texts."""
    row = list(range(len(wanted) + 1))
    for i, one in enumerate(found, start=1):
        corner, row[0] = row[0], i
        for j, other in enumerate(wanted, start=1):
            best = min(row[j] + 1, row[j - 1] + 1, corner + (one != other))
            corner, row[j] = row[j], best
    return row[-1]


def count_characters(messages: list[Heard]) -> int:
    """Count the characters of messages, without their last space."""
    return sum(len(message.text.strip()) for message in messages)


def error_rate(found: list[str], messages: list[Heard]) -> float:
    """Compute the character error rate of texts, without their last space."""
    wanted = [message.text.strip() for message in messages]
    wrong = map(edits, [text.strip() for text in found], wanted)
    return sum(wrong) / count_characters(messages)
