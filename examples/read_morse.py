"""Can attention read Morse code while it is still being keyed?

Makes noisy audio of Morse code, keyed by unsteady hands, and learns to read it:

    python examples/read_morse.py

The encoder goes one way, and monotonic attention stops where a character is
complete ([Raffel et al., 2017](https://arxiv.org/abs/1704.00784), with the
chunks of [Chiu and Raffel, 2018](https://arxiv.org/abs/1712.05382)). So the
trained model reads live, in chunks of 50 ms. No word, call sign or number of
the test occurs in training. `timing.py` reads the same audio by threshold and
timing, and learns nothing.

    python examples/read_morse.py --wav recording.wav
    python examples/read_morse.py --compare

The first reads a file by the model that an earlier run has saved, or trains
one. The second trains additive, location-aware and GMM attention beside it, in
a few minutes more, and reads messages four times as long as any in training:
who loses the thread?
`morse.py` makes the audio, `ear.py` its features, `listener.py` the model,
`live.py` reads live and draws. It needs the extra `plots`.
"""

import argparse
import time
from pathlib import Path

import keras
import numpy as np
import timing
from listener import chunkwise
from listener import make_model
from listener import read
from listener import train
from listener import train_encoder
from live import delays
from live import draw
from live import read_live
from morse import RATE
from morse import Heard
from morse import heard
from morse import read_wav

from keras_attention import BahdanauAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import LocationAwareAttention
from keras_attention import Seq2Seq
from keras_attention.extras import require

PICTURE, MODEL = "read_morse.png", "read_morse.keras"
SECONDS, COUNT = 6.0, 6000  # of a message in training; their number
SNRS, SPEEDS = (0, 3, 6, 12, 20), (12, 20, 28)
OTHERS = {
    "additive": lambda: BahdanauAttention(32),
    "location-aware": lambda: LocationAwareAttention(32, 8, 15),
    "GMM": lambda: GaussianMixtureAttention(3),
}


def make_messages(
    count: int,
    seconds: float,
    seed: int,
    snr: tuple[float, float] = (0, 25),
    speed: tuple[float, float] = (10, 30),
    held_out: bool = False,
) -> list[Heard]:
    """Make messages with ratios of signal to noise, and speeds, in a range."""
    random = np.random.default_rng(seed)
    return [
        heard(
            random,
            random.uniform(*snr),
            random.uniform(*speed),
            seconds,
            held_out,
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


def error_rate(found: list[str], messages: list[Heard]) -> float:
    """Compute the character error rate of texts, without their last space."""
    wanted = [message.text.strip() for message in messages]
    wrong = map(edits, [text.strip() for text in found], wanted)
    return sum(wrong) / sum(map(len, wanted))


def test(model: Seq2Seq, count: int, seed: int) -> dict[tuple, tuple]:
    """Compute error rates by signal-to-noise ratio and speed, and print them.

    Args:
        model: The trained model.
        count: Number of messages of each ratio and speed.
        seed: Seed of the messages.

    Returns:
        The error rates of the model and of timing, by ratio and speed.
    """
    rates = {}
    print("Character error rate, by attention and by timing")
    print("SNR     " + "".join(f"{x:>11} wpm" for x in SPEEDS))
    for snr in SNRS:
        for speed in SPEEDS:
            both = (snr, snr), (speed, speed)
            messages = make_messages(count, 12.0, seed, *both, held_out=True)
            rates[snr, speed] = tuple(
                error_rate(texts, messages)
                for texts in (read(model, messages), timing.read(messages))
            )
        cells = [rates[snr, speed] for speed in SPEEDS]
        line = "".join(f"{a:8.1%}{b:7.1%}" for a, b in cells)
        print(f"{snr:3} dB  {line}")
    return rates


def trained(file: Path, quick: bool, seed: int) -> Seq2Seq:
    """Train a model, make its attention hard, and save it."""
    units, first, then = (16, 1, 1) if quick else (128, 16, 5)
    messages = make_messages(64 if quick else COUNT, SECONDS, seed)
    model = make_model(units, chunkwise())
    train_encoder(model.encoder, messages, first)
    train(model, messages, then)
    print(*model.harden())
    file.parent.mkdir(parents=True, exist_ok=True)
    model.save(file)
    return model


def compare_others(
    model: Seq2Seq, quick: bool, seed: int
) -> dict[str, tuple[float, float]]:
    """Train other attentions, and read messages of training's length and of 4.

    Args:
        model: A trained model, with whose encoder the others begin.
        quick: Whether to train for seconds only.
        seed: Seed of the messages.

    Returns:
        Error rates for messages of `SECONDS`, and of four times that, by name.
    """
    messages = make_messages(64 if quick else COUNT, SECONDS, seed)
    models = {"chunkwise": model}
    for name, attention in OTHERS.items():
        print(name)
        models[name] = make_model(model.encoder.units, attention())
        models[name].encoder.set_weights(model.encoder.get_weights())
        train(models[name], messages, 1 if quick else 5)
    tests = [
        make_messages(count, seconds, seed + 1, (6, 6), held_out=True)
        for count, seconds in ((40, SECONDS), (10, 4 * SECONDS))
    ]
    print(f"Error rate, 6 dB   {SECONDS:.0f} s   {4 * SECONDS:.0f} s")
    rates = {}
    for name, each in models.items():
        rates[name] = tuple(error_rate(read(each, x), x) for x in tests)
        print(f"{name:14}" + "".join(f"{rate:8.1%}" for rate in rates[name]))
    return rates


def show_live(model: Seq2Seq, message: Heard, picture: Path):
    """Read a message live, print how, and draw it."""
    reading = read_live(model, message.audio)
    (whole,) = read(model, [message])
    waits = delays(reading, message)
    seconds = len(message.audio) / RATE
    print(f"Keyed: {message.text}")
    print(f"Live:  {reading.text}")
    print(f"The same as from the whole audio: {reading.text == whole}")
    if waits:
        print(f"Mean delay after a letter's last mark: {np.mean(waits):.2f} s")
    print(f"Computing: {reading.work / seconds:.2f} of the time of the audio")
    draw(model, message, reading, picture)


def main(
    quick: bool = False,
    wav: str | Path | None = None,
    compare: bool = False,
    output: str | Path = "outputs",
    seed: int = 0,
) -> dict | str:
    """Train, test, read live, and draw; or read a file; or compare.

    Args:
        quick: Whether to train for seconds only, to try the code.
        wav: A WAV file to read, by the model of an earlier run if there is
            one in `output`.
        compare: Whether to train other attentions, beside such a model, and
            to read long messages with all of them.
        output: Folder of the picture and the model.
        seed: Seed of all random numbers.

    Returns:
        The error rates of attention and of timing, by signal-to-noise ratio
        and speed; or the text of the file; or what `compare_others` returns.
    """
    began = time.perf_counter()
    require("matplotlib.figure", "plots", "read_morse.py")
    keras.utils.set_random_seed(seed)
    file, picture = Path(output) / MODEL, Path(output) / PICTURE
    if (wav or compare) and file.exists():
        model = keras.models.load_model(file, compile=False)
    else:
        model = trained(file, quick, seed)
    print(f"Model: {file}")
    if wav:
        text = read_live(model, read_wav(wav)).text
        print(text)
        return text
    if compare:
        return compare_others(model, quick, seed + 1)
    rates = test(model, 1 if quick else 24, seed + 1)
    both = (6, 6), (20, 20)
    (message,) = make_messages(1, 12.0, seed + 3, *both, held_out=True)
    show_live(model, message, picture)
    print(f"{time.perf_counter() - began:.0f} seconds in all")
    print(f"Picture: {picture}")
    return rates


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wav", help="a file to read", metavar="FILE")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
