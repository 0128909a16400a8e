"""Morse code: texts, the hand that keys them, and what is heard of it.

A dit takes 1.2 seconds divided by the speed in words per minute; a dah takes
about three dits. The gap between two marks of a letter is one dit, between
letters about three dits, and between words about seven. Human keying is not
exact: every duration varies, each operator has longer dahs and shorter gaps of
their own, and the speed drifts. The tone has one pitch, its volume fades, and
white noise is added. The signal-to-noise ratio compares the tone, before it
fades, with the noise of the whole band of 2000 Hz.

Words, call signs and numbers of the test never occur in training: a checksum
decides which of them are held out.
"""

import wave
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

RATE = 4000  # samples a second
CODES = {
    **dict(zip("ABCDEFG", ".- -... -.-. -.. . ..-. --.".split(), strict=True)),
    **dict(zip("HIJKLMN", ".... .. .--- -.- .-.. -- -.".split(), strict=True)),
    **dict(zip("OPQRSTU", "--- .--. --.- .-. ... - ..-".split(), strict=True)),
    **dict(zip("VWXYZ", "...- .-- -..- -.-- --..".split(), strict=True)),
    **{str(n): "." * n + "-" * (5 - n) for n in range(1, 6)},
    **{str(n % 10): "-" * (n - 5) + "." * (10 - n) for n in range(6, 11)},
}
ALPHABET, DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
LETTERS = {code: letter for letter, code in CODES.items()}
WORDS = """
ABLE ABOUT AERIAL AFTER AGAIN AGE ALL ALONG ALSO AND ANTENNA ANY AREA ARE ASK
BACK BAND BATTERY BEAM BEEN BEST BETTER BIG BOAT BOOK BOTH BREEZE BUT CALL CAME
CAN CAR CITY CLEAR CLOUD CLUB COAST COLD COME COPY COULD CQ DAY DEAR DIPOLE DOWN
EAST EMAIL END ENGINE EVEN EVENING EVERY FAR FEET FEW FIELD FIND FINE FIRST FOG
FOR FOX FREQUENCY FRIEND FROM GARDEN GIVE GOING GOOD GREAT GROUND HAM HAND HAPPY
HARBOR HAVE HEAR HEIGHT HELLO HERE HIGH HILL HOME HOPE HOUR HOUSE HOW ICE JAZZ
JOB JUMP JUST KEEP KEY KNOW LAKE LAST LATE LAZY LEFT LIGHT LIKE LITTLE LONG LOUD
LOW MAKE MANY MAST METER MOON MORE MORNING MUCH MUSIC NAME NEAR NEW NEXT NICE
NIGHT NOISE NORTH NOT NOW OCEAN OFF OLD ONE ONLY OPEN OTHER OUT OVER PAPER PATH
POWER QUICK QUIET QUITE RADIO RAIN REPEAT REPORT RIG RIGHT RIVER ROOM SAILOR SEA
SEND SHIP SHORT SIGNAL SKY SLOW SNOW SOME SOON SOUTH SPEED STATION STORM STRONG
SUMMER SUN TAKE TEST THANKS THAT THE THEN THIS TIME TODAY TONE TOWN TREE TRY
TUNE TWO UNDER UNTIL VALLEY VERY VOICE WALK WARM WATER WAVE WEATHER WELL WEST
WHAT WHEN WHERE WIND WINTER WIRE WISH WITH WORK WORLD WOULD YEAR YES YOUR ZERO
""".split()
EDGE = np.hanning(22) / np.hanning(22).sum()  # 5 ms, against clicks


class Heard(NamedTuple):
    """One message as audio.

    Attributes:
        audio: Samples `(N,)`, float32.
        text: What was keyed, with a space behind every word.
        ended: For each character the second at which its last mark ended; for
            a space, that of the character before.
        dit: Seconds of a dit.
    """

    audio: np.ndarray
    text: str
    ended: np.ndarray
    dit: float


def is_held_out(word: str) -> bool:
    """Whether a word, a call sign or a number is in the test alone."""
    return zlib.crc32(word.encode()) % 4 == 0


def draw_word(random: np.random.Generator, held_out: bool) -> str:
    """Draw a word, a call sign or a number; in training mostly random groups.

    What knows words well reads them into others that sound alike.
    """
    kinds = [_call_sign, _number, _word] + [_group] * (0 if held_out else 6)
    while True:
        word = kinds[random.integers(len(kinds))](random)
        if is_held_out(word) == held_out:
            return word


def _draw(random, among, fewest, most):
    count = random.integers(fewest, most + 1)
    return "".join(random.choice(list(among), count))


def _call_sign(random):
    first, digit = _draw(random, ALPHABET, 1, 2), _draw(random, DIGITS, 1, 1)
    return first + digit + _draw(random, ALPHABET, 1, 3)


def _number(random):
    return _draw(random, DIGITS, 2, 5)


def _word(random):
    return str(random.choice(WORDS))


def _group(random):
    few = _draw(random, CODES, 3, 3)  # so that equal ones follow each other
    return _draw(random, few, 2, 6)


class Hand:
    """How one person keys, at one speed.

    Args:
        random: Generator of all that varies.
        speed: Words a minute.
    """

    def __init__(self, random: np.random.Generator, speed: float):
        self.random = random
        self.dit = 1.2 / speed
        self.dah, self.gap, self.space = random.uniform(
            (2.6, 2.6, 6.0), (3.6, 4.0, 9.0)
        )
        self.unsteady = random.uniform(0.02, 0.15)
        self.drift = random.uniform(-0.01, 0.01)  # of the speed, a second

    def wait(self, dits: float, time: float) -> float:
        """Return the seconds that this hand makes of some dits."""
        varied = dits * np.exp(self.unsteady * self.random.standard_normal())
        return varied * self.dit * np.exp(self.drift * min(time, 15.0))

    def key(self, word: str, time: float) -> tuple[list, list]:
        """Key a word.

        Args:
            word: Letters and digits.
            time: Second at which it starts.

        Returns:
            Start and end of every mark, and the end of every character.
        """
        marks, ended = [], []
        for letter in word:
            for mark in CODES[letter]:
                length = self.wait(1.0 if mark == "." else self.dah, time)
                marks.append((time, time + length))
                time += length + self.wait(1.0, time)
            ended.append(marks[-1][1])
            time = ended[-1] + self.wait(self.gap, time)
        return marks, ended


def keyed(
    random: np.random.Generator, speed: float, seconds: float, held_out: bool
) -> tuple[str, np.ndarray, np.ndarray, float]:
    """Key words, each with a space behind it, until the next one is too long.

    Returns:
        The text, start and end of its marks `(M, 2)` in seconds, and `ended`
        and `dit` of `Heard`.
    """
    hand = Hand(random, speed)
    text, marks, ended = "", [], []
    time = random.uniform(0.2, 0.8)
    while True:
        word = draw_word(random, held_out)
        new, ends = hand.key(word, time)
        if ends[-1] + 6 * hand.dit < seconds:  # the space can be heard, too
            text, marks = text + word + " ", marks + new
            ended += [*ends, ends[-1]]
            time = ends[-1] + hand.wait(hand.space, time)
        elif text:
            return text, np.array(marks), np.array(ended), hand.dit


def heard(
    random: np.random.Generator,
    snr: float,
    speed: float,
    seconds: float = 8.0,
    held_out: bool = False,
    shortest: float | None = None,
) -> Heard:
    """Make the audio of one message.

    Args:
        random: Generator of all that is random.
        snr: Signal-to-noise ratio in dB, of the tone before it fades.
        speed: Words a minute.
        seconds: Length of the audio.
        held_out: Whether the words are those of the test.
        shortest: The least number of seconds in which words are keyed, before
            noise alone. Defaults to `None`, all of them.
    """
    until = seconds if shortest is None else random.uniform(shortest, seconds)
    text, marks, ended, dit = keyed(random, speed, until, held_out)
    count = int(RATE * seconds)
    switched = np.zeros(count + 1)
    edges = np.minimum(np.rint(marks * RATE).astype(int), count)
    np.add.at(switched, edges[:, 0], 1.0)
    np.add.at(switched, edges[:, 1], -1.0)
    keying = np.convolve(np.cumsum(switched[:-1]), EDGE, mode="same")
    times = np.arange(0, count, 40) / RATE  # a hundred a second are enough
    fading = 0.0  # in dB: slow and fast, up to 5 below and above
    for depth, period in ((3.0, (4, 12)), (2.0, (1, 4))):
        phase = random.uniform(0, 2 * np.pi)
        turns = times / random.uniform(*period)
        fading = fading + depth * np.sin(2 * np.pi * turns + phase)
    fading = np.repeat(10 ** (fading / 20), 40)[:count]
    pitch, phase = random.uniform(400, 900), random.uniform(0, 2 * np.pi)
    turns = np.arange(count) * (pitch / RATE)
    tone = fading * np.sin(2 * np.pi * turns + phase)
    noise = random.standard_normal(count, dtype="float32")
    volume = random.uniform(0.01, 0.1)  # of the noise
    loud = np.sqrt(2) * 10 ** (snr / 20)
    audio = (volume * (loud * keying * tone + noise)).astype("float32")
    return Heard(audio, text, ended, dit)


def read_wav(file: str | Path) -> np.ndarray:
    """Read a WAV file as samples at `RATE`, with a trace of noise.

    Args:
        file: 8 or 16 bits a sample, any number of channels, any rate.

    Returns:
        Samples `(N,)`, float32: the mean of the channels, without what is
        above 1800 Hz. The noise, 40 dB below the loudest sample, stands for
        the hiss that every receiver has.

    Raises:
        ValueError: If there are other numbers of bits.
    """
    with wave.open(str(file), "rb") as opened:
        width, rate = opened.getsampwidth(), opened.getframerate()
        channels = opened.getnchannels()
        data = opened.readframes(opened.getnframes())
    if width not in (1, 2):
        raise ValueError(
            "read_wav needs 8 or 16 bits a sample. Received: "
            f"file={str(file)!r} with {8 * width} bits. Convert it first."
        )
    samples = np.frombuffer(data, "<i2" if width == 2 else "u1")
    audio = samples.astype("float64").reshape(-1, channels).mean(axis=1)
    audio = resampled(audio - audio.mean(), rate)
    audio /= max(np.abs(audio).max(initial=0.0), 1.0)
    noise = np.random.default_rng(0).standard_normal(len(audio))
    return (0.1 * audio + 0.001 * noise).astype("float32")


def resampled(audio: np.ndarray, rate: int) -> np.ndarray:
    """Bring samples from any rate to `RATE`.

    A windowed sinc, 20 ms long, removes what is above 1800 Hz, or above what
    the old rate can hold; then the samples lie on straight lines.
    """
    if rate == RATE:
        return audio
    cut = min(1800.0, 0.45 * rate) / rate
    reach = np.arange(-(rate // 100), rate // 100 + 1)
    kernel = np.sinc(2 * cut * reach) * np.hanning(len(reach) + 2)[1:-1]
    smooth = np.convolve(audio, kernel / kernel.sum(), mode="same")
    places = np.arange(int(len(audio) * RATE / rate)) * rate / RATE
    return np.interp(places, np.arange(len(audio)), smooth)
