"""Can attention learn to normalize dates in seven languages? In two minutes.

A model reads dates as people write them in seven languages, and writes them in
ISO 8601:

    python examples/translate_dates.py

The example needs no data and no network, only the extras `text`, `plots` and
`litert`. `helpers/dates.py` generates the dates. The script trains a
character-level model, prints its exact-match accuracy on held-out dates, and
draws its attention weights. It exports the model for TensorFlow Serving, and
runs this export in a new process, without `keras_attention`. It also writes a
LiteRT file for phones, which `litert_translate.py` runs. At the end, it prints
three commands that you can try with the saved translator.

All files are written to `outputs/dates`, or to the folder `--output`.
"""

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
from helpers.dates import all_dates
from helpers.dates import make_pairs

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CharacterTokenizer
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import TokenAccuracy
from keras_attention import Translator
from keras_attention import plot_attention
from keras_attention.extras import require

SAVED_MODEL, LITERT, PICTURE = "1", "translator.tflite", "attention.png"
SAVED, TRY = "translator", "try.txt"
BATCH_SIZE = 128
SHOWN = [  # a leap day, and held out
    "Thursday, February 29, 2024",
    "Thu 29 Feb 24",
    "2/29/24",
    "Do 29.2.24",
    "Donnerstag, den 29. Februar 2024",
    "le jeudi 29 février 2024",
    "29 de febrero de 2024",
    "2024년 2월 29일 목요일",
    "2024年2月29日(木)",
    "二〇二四年二月二十九日",
]
DRAWN = 4  # which of these is drawn
READER = """
import json, sys
import tensorflow as tf

serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
found = serve(text=tf.constant(json.load(sys.stdin)))["translations"]
print(json.dumps([row[0].decode() for row in found.numpy()]))
"""


def make_model(source_size: int, target_size: int, units: int) -> Seq2Seq:
    """Make a bidirectional encoder and a decoder that attends."""
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(2 * units), BahdanauAttention(units)
    )
    return Seq2Seq(
        source_vocabulary_size=source_size,
        target_vocabulary_size=target_size,
        embedding_dim=units // 2,
        encoder=RecurrentEncoder(units),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
    )


def train(
    pairs: tuple[list[str], list[str]],
    held_out: tuple[list[str], list[str]],
    units: int,
    epochs: int,
) -> Translator:
    """Train a translator.

    Args:
        pairs: Sentences, and their translations.
        held_out: The same for validation.
        units: Size of the model.
        epochs: Number of epochs.
    """
    source = CharacterTokenizer.train(
        pairs[0], 200, normalization="nfkc", lowercase=True
    )
    target = CharacterTokenizer("0123456789-")

    def ids(pairs):
        x, y = source.tokenize(pairs[0]), target.tokenize(pairs[1])
        return (x, y[:, :-1]), y[:, 1:]

    model = make_model(source.vocabulary_size, target.vocabulary_size, units)
    steps = epochs * -(-len(pairs[0]) // BATCH_SIZE)
    rate = keras.optimizers.schedules.CosineDecay(0.003, steps)
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=1.0),
        loss=SequenceCrossentropy(),
        metrics=[TokenAccuracy()],
    )
    validation = ids(held_out)
    bar = 1 if sys.stdout.isatty() else 2
    model.fit(*ids(pairs), BATCH_SIZE, epochs, bar, validation_data=validation)
    return Translator(model, source, target, GreedySearch(max_length=11))


def exact_match(
    translator: Translator, pairs: tuple[list[str], list[str]]
) -> float:
    """Compute the share of sentences that are translated without a mistake."""
    sentences, wanted = pairs
    found = translator(sentences, batch_size=256)
    right = sum(x == y for x, y in zip(found, wanted, strict=True))
    return right / len(wanted)


def show(translator: Translator, file: Path):
    """Print examples, and draw the attention of one of them."""
    found = translator(SHOWN, return_attention_scores=True)
    for sentence, date in zip(SHOWN, found.texts, strict=True):
        print(f"{date}  {sentence}")
    letters = slice(1, -1)  # without the start and the end
    ax = plot_attention(
        found.attention[DRAWN][:, letters],
        found.source_tokens[DRAWN][letters],
        found.target_tokens[DRAWN],
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(file)


def export(translator: Translator, folder: Path, file: Path):
    """Export as a SavedModel and a LiteRT file; check that the first runs."""
    translator.export(folder)
    if read_back(folder, SHOWN) != translator(SHOWN):
        raise RuntimeError(f"{folder} does not give what the model gives.")
    print("A new process reads the same dates with the SavedModel.")
    translator.export(file, format="litert")


def read_back(folder: Path, sentences: list[str]) -> list[str]:
    """Translate in a new process that imports only TensorFlow."""
    answer = subprocess.run(
        [sys.executable, "-c", READER, str(folder)],
        input=json.dumps(sentences),
        capture_output=True,  # without what TensorFlow logs when it starts
        text=True,
        check=False,
    )
    if answer.returncode:
        sys.exit(answer.stderr)
    return json.loads(answer.stdout)


def commands(folder: Path) -> list[str]:
    """Write what the command line works with, and say what to try."""
    lines = "".join(f"{sentence}\n" for sentence in SHOWN)
    (folder / TRY).write_text(lines, encoding="utf-8")
    saved = str(folder / SAVED)
    return [
        shlex.join([sys.executable, "-m", "keras_attention", *words])
        for words in (
            ("translate", saved, str(folder / TRY)),
            ("show", saved),
            ("export", saved, str(folder / "small.tflite"), "--quantize=int8"),
        )
    ]


def main(
    quick: bool = False, output: str | Path = "outputs/dates", seed: int = 0
) -> float:
    """Train, test, draw, export and read back.

    Args:
        quick: Whether to train for seconds only, to try the code.
        output: Folder of the picture, the SavedModel (as version 1), the
            LiteRT file and the translator that the commands load.
        seed: Seed of all random numbers.

    Returns:
        The share of held-out dates that come out exactly right.
    """
    began = time.perf_counter()
    require("matplotlib.pyplot", "plots", "translate_dates.py")
    keras.utils.set_random_seed(seed)
    size = 256 if quick else None
    pairs = make_pairs(all_dates(held_out=False)[:size], seed)
    held_out = make_pairs(all_dates(held_out=True)[:size], seed)
    print(f"Training dates: {len(pairs[0])}, held out: {len(held_out[0])}")
    units, epochs = (8, 1) if quick else (64, 3)
    translator = train(pairs, held_out, units, epochs)
    share = exact_match(translator, held_out)
    print(f"Exact-match accuracy on held-out dates: {share:.2%}")
    places = [Path(output) / name for name in (PICTURE, SAVED_MODEL, LITERT)]
    picture, folder, file = places
    show(translator, picture)
    export(translator, folder, file)
    translator.save(Path(output) / SAVED)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    print(f"SavedModel: {folder}")
    print(f"LiteRT: {file}, {file.stat().st_size / 1e6:.1f} MB")
    print("Try it:", *commands(Path(output)), sep="\n")
    return share


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs/dates", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
