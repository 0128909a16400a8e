"""Can attention read a date? It learns to, in two minutes.

Dates as people write them in seven languages go in, ISO 8601 comes out:

    python examples/translate_dates.py

It needs no data and no network, only the extras `text`, `plots` and `litert`.
A model of characters learns from dates that `dates.py` writes. Then it is told
how many dates that it never saw come out exactly right, and drawn what it
looked at. It is exported for TensorFlow Serving and read back in a process
that has never heard of `keras_attention`; and once more as a LiteRT file, for
phones, which `litert_translate.py` runs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import keras
from dates import all_dates
from dates import make_pairs

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

ROOT = Path(__file__).parents[1]
EXPORT = "saved_models/dates"
PLOT = "docs/attention.png"
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
DRAWN = 4  # of these
READER = """
import json, sys
import tensorflow as tf
import tensorflow_text  # its operations are in the graph

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


def train(pairs, held_out, units: int, epochs: int) -> Translator:
    """Learn to translate the sentences of the pairs.

    Args:
        pairs: Sentences, and what each one means.
        held_out: The same, to watch while it learns.
        units: Size of the model.
        epochs: How often all pairs are seen.
    """
    source = CharacterTokenizer.train(pairs[0], 200, lowercase=True)
    target = CharacterTokenizer("0123456789-")

    def ids(pairs):
        x, y = source.tokenize(pairs[0]), target.tokenize(pairs[1])
        return (x.numpy(), y[:, :-1].numpy()), y[:, 1:].numpy()

    model = make_model(source.vocabulary_size, target.vocabulary_size, units)
    steps = epochs * -(-len(pairs[0]) // BATCH_SIZE)
    rate = keras.optimizers.schedules.CosineDecay(0.003, steps)
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=1.0),
        loss=SequenceCrossentropy(),
        metrics=[TokenAccuracy()],
    )
    watched = ids(held_out)
    model.fit(
        *ids(pairs), BATCH_SIZE, epochs, verbose=2, validation_data=watched
    )
    return Translator(model, source, target, GreedySearch(max_length=11))


def exact_match(translator: Translator, pairs) -> float:
    """Tell what share of the sentences is translated without any mistake."""
    sentences, wanted = pairs
    found = translator(sentences, batch_size=256)
    right = sum(x == y for x, y in zip(found, wanted, strict=True))
    return right / len(wanted)


def show(translator: Translator, file: Path):
    """Print examples, and draw what the model looked at to read one."""
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


def hand_over(translator: Translator, folder: Path):
    """Export, and see that a new process translates like this one."""
    served, file = folder / "1", folder / "translator.tflite"
    translator.export(served)
    if read_back(served, SHOWN) != translator(SHOWN):
        raise RuntimeError(f"{served} does not give what the model gives.")
    print(f"A new process reads the same dates with {served}")
    translator.export(file, format="litert")
    print(f"{file} has {file.stat().st_size / 1e6:.1f} MB")


def read_back(folder: Path, sentences: list[str]) -> list[str]:
    """Translate in a new process that knows TensorFlow alone."""
    answer = subprocess.run(
        [sys.executable, "-c", READER, str(folder)],
        input=json.dumps(sentences),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def main(quick=False, export=None, plot=None, seed=0) -> float:
    """Train, test, draw, export and read back.

    Args:
        quick: Whether to show in seconds that everything runs, and learn
            nothing, with files that are gone afterwards.
        export: Folder for the SavedModel, version 1, and the LiteRT file.
            Defaults to `saved_models/dates` of this project.
        plot: File of the picture. Defaults to `docs/attention.png`.
        seed: Which random numbers to draw.

    Returns:
        The share of held-out dates that come out exactly right.
    """
    began = time.perf_counter()
    require("matplotlib.pyplot", "plots", "translate_dates.py")
    keras.utils.set_random_seed(seed)
    size = 256 if quick else None
    pairs = make_pairs(all_dates(held_out=False)[:size], seed)
    held_out = make_pairs(all_dates(held_out=True)[:size], seed)
    print(f"{len(pairs[0])} dates to learn, {len(held_out[0])} held out")
    units, epochs = (8, 1) if quick else (64, 3)
    translator = train(pairs, held_out, units, epochs)
    share = exact_match(translator, held_out)
    print(f"Exactly right of the held-out dates: {share:.2%}")
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) if quick else ROOT
        show(translator, Path(plot or place / PLOT))
        hand_over(translator, Path(export or place / EXPORT))
    print(f"{time.perf_counter() - began:.0f} seconds in all")
    return share


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--export", metavar="DIR")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
