"""Can hard attention transcribe Morse code while it is still being keyed?

The example generates noisy audio of Morse code, keyed by unsteady hands, and
trains a model that transcribes it:

    python examples/read_morse.py

First, a unidirectional LSTM learns to recognize each character, in the first
frame in which this is possible. These frames are known, because the audio is
generated. Then the LSTM is frozen. Monotonic attention learns to stop where the
LSTM recognizes a character ([Raffel et al.,
2017](https://arxiv.org/abs/1704.00784), with the chunks of [Chiu and Raffel,
2018](https://arxiv.org/abs/1712.05382)), and a decoder learns to write the
character. So the LSTM recognizes characters, and attention decides which of
them are written, and when. The model reads the audio live, in chunks of 50 ms.
No word, call sign or number of the test set occurs in the training set. For
comparison, `helpers/timing.py` decodes the same audio by threshold and timing,
without learning.

    python examples/read_morse.py --wav recording.wav
    python examples/read_morse.py --compare

The first command reads a file with the model that an earlier run has saved; if
there is none, it trains a model first. The second command compares chunkwise,
additive, location-aware and GMM attention on messages four times as long as
usual training messages. It takes ten minutes. The example needs the extra
`plots`.

On TensorFlow, the example exports the model to a LiteRT file of 0.5 MB for
phones, and reads a message with it, without Keras. This needs the extra
`litert`.

The helper modules:

- `helpers/morse.py` generates audio, and `helpers/messages.py` whole data sets.
- `helpers/ear.py` computes features.
- `helpers/listener.py` defines the model.
- `helpers/live.py` reads audio live, and draws the picture.
- `helpers/long_messages.py` compares the mechanisms.
"""

import argparse
import time
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
import numpy as np
from helpers import timing
from helpers.ear import IDS
from helpers.ear import STEP
from helpers.ear import hear
from helpers.ear import to_text
from helpers.listener import chunkwise
from helpers.listener import make_model
from helpers.listener import read
from helpers.listener import train
from helpers.listener import train_encoder
from helpers.live import delays
from helpers.live import draw
from helpers.live import read_live
from helpers.long_messages import compare_attentions
from helpers.messages import count_characters
from helpers.messages import error_rate
from helpers.messages import make_messages
from helpers.morse import RATE
from helpers.morse import Heard
from helpers.morse import read_wav

from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import Seq2Seq
from keras_attention import Translator
from keras_attention.extras import require

PICTURE, MODEL = "read_morse.png", "read_morse.keras"
FILE = "read_morse.tflite"
SECONDS, COUNT = 6.0, 6000  # of a message in training; their number
MOST = 12.0  # seconds of a message that a file reads
SNRS, SPEEDS = (0, 3, 6, 12, 20), (12, 20, 28)


def test(model: Seq2Seq, count: int, seed: int) -> dict[tuple, tuple]:
    """Compute error rates by signal-to-noise ratio and speed, and print them.

    The messages of a speed have the same texts at every ratio.

    Args:
        model: The trained model.
        count: Number of messages at the highest speed. At lower ones, where a
            message has fewer characters, it is twice or three times that.
        seed: Seed of the messages.

    Returns:
        The error rates of the model and of timing, by ratio and speed.
    """
    rates, characters = {}, dict.fromkeys(SPEEDS)
    print("Character error rate, by attention and by timing")
    columns = "".join(f"{x:>11} wpm" for x in SPEEDS)
    print(f"SNR     {columns}{'all':>15}")
    for snr in SNRS:
        for speed in SPEEDS:
            several = count * -(-SPEEDS[-1] // speed)
            both = (snr, snr), (speed, speed)
            messages = make_messages(several, 12.0, seed, *both, held_out=True)
            found = []
            for i in range(0, several, count):  # equal parts: one program
                found += read(model, messages[i : i + count])
            characters[speed] = count_characters(messages)
            rates[snr, speed] = tuple(
                error_rate(texts, messages)
                for texts in (found, timing.read(messages))
            )
        cells, counts = [rates[snr, x] for x in SPEEDS], [*characters.values()]
        cells.append(np.average(cells, axis=0, weights=counts))
        line = "".join(f"{a:8.1%}{b:7.1%}" for a, b in cells)
        print(f"{snr:3} dB  {line}")
    counts = [*characters.values()]
    line = "".join(f"{n:15}" for n in (*counts, sum(counts)))
    print(f"Number  {line}")
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


def show_live(model: Seq2Seq, message: Heard, picture: Path):
    """Read a message live, print how, and draw it."""
    reading = read_live(model, message.audio)
    (whole,) = read(model, [message])
    waits = delays(reading, message)
    seconds = len(message.audio) / RATE
    print(f"Keyed: {message.text}")
    print(f"Live:  {reading.text}")
    print(f"Same text from the whole audio: {reading.text == whole}")
    if waits:
        print(f"Mean delay after a letter's last mark: {np.mean(waits):.2f} s")
    print(f"Computing time: {reading.work / seconds:.2f} s per second of audio")
    draw(model, message, reading, picture)


def export(model: Seq2Seq, message: Heard, file: Path) -> str:
    """Export a model, and read a message by the file, in LiteRT alone.

    Args:
        model: The trained model.
        message: A message.
        file: Where to write it, `*.tflite`.

    Returns:
        The text, which is printed.
    """
    heard = hear([message])
    search = GreedySearch(max_length=round(MOST / STEP))
    letters = CharacterTokenizer([*IDS], "identity")
    Translator(model, None, letters, search).export(file)
    litert = require("ai_edge_litert.interpreter", "litert", "read_morse.py")
    run = litert.Interpreter(str(file)).get_signature_runner("translate_ids")
    found = run(source=heard, source_mask=np.ones(heard.shape[:2], bool))
    text = to_text(found["tokens"][0, 0])
    print(f"File:  {text}")
    print(f"File: {file}, {file.stat().st_size / 1000:.0f} kB")
    return text


def main(
    quick: bool = False,
    wav: str | Path | None = None,
    compare: bool = False,
    epochs: int = 8,
    output: str | Path = "outputs",
    seed: int = 0,
) -> dict | str:
    """Train, test, read live, and draw; or read a file; or compare.

    Args:
        quick: Whether to train for seconds only, to try the code.
        wav: A WAV file to read, by the model of an earlier run if there is
            one in `output`.
        compare: Whether to train several attentions on what such a model
            names, and to read long messages with each.
        epochs: Number of epochs of each of them.
        output: Folder of the picture, the model and the file.
        seed: Seed of all random numbers.

    Returns:
        The error rates of attention and of timing, by signal-to-noise ratio
        and speed; or the text of the file; or what `compare_attentions`
        returns.
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
        return compare_attentions(model.encoder, quick, epochs, seed + 1)
    rates = test(model, 1 if quick else 24, seed + 1)
    both = (6, 6), (20, 20)
    (message,) = make_messages(1, 12.0, seed + 3, *both, held_out=True)
    show_live(model, message, picture)
    if keras.backend.backend() == "tensorflow":
        export(model, message, Path(output) / FILE)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    return rates


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wav", help="WAV file to transcribe", metavar="FILE")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
