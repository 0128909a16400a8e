"""Which words decide the class of a text? Attention pooling shows them.

A bidirectional LSTM reads a review, and `AttentionPooling` takes the weighted
mean of its outputs. A classifier reads only this mean. Therefore, the weights
show which words determine the class:

    python examples/classify_text.py

`helpers/reviews.py` generates the reviews, so that the decisive clause is
known: "the story was hardly dull" decides, "the hall was hardly full" does not.
The test set contains pairs of a negator and an adjective that never occur
together in the training set.

The weights are over the outputs of an LSTM, which also contain information
about earlier and later words. Within the decisive clause, any word may have the
largest weight, and a model with another random seed may choose another word:
[attention is not explanation](https://arxiv.org/abs/1902.10186) (Jain and
Wallace, 2019).

On TensorFlow, the example exports the classifier to a LiteRT file for phones,
and runs this file on the held-out texts without Keras.

`--data FILE` reads your own texts, one per line: class, tab, text. The picture
needs the extra `plots`, and the export needs the extra `litert`.
"""

import argparse
import random
import re
import time
from collections import Counter
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
import numpy as np
from helpers.reviews import Review
from helpers.reviews import make_reviews

import keras_attention
from keras_attention import AttentionPooling
from keras_attention.extras import require

PICTURE, FILE = "classify_text.png", "classify_text.tflite"
PADDING, UNKNOWN = 0, 1
SHOWN = 10
LEGEND = (
    "Orange: the weight of the word. Underlined: the clause that decides, "
    "where it is known. Red: a wrong answer."
)
LINE = 96  # letters a line of the picture
LETTER = 0.602 * 10 / 72  # inches: the width of a letter, DejaVu Sans Mono 10


def read(file: str | Path, seed: int) -> tuple[list[Review], list[Review]]:
    """Read texts with their classes, and hold out a tenth at random.

    Args:
        file: Lines of class, tab, text, in UTF-8.
        seed: Seed of the choice.

    Returns:
        The texts to learn from, and those held out.
    """
    found = []
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        label, tab, text = line.partition("\t")
        words = re.findall(r"\w+(?:[-']\w+)*|[^\w\s]", text.lower())
        if not tab or not words:
            raise SystemExit(
                f"`--data` needs a class, a tab and a text in every line. "
                f"Received: {line!r} in {file}."
            )
        found.append(Review(words, label))
    random.Random(seed).shuffle(found)
    return found[len(found) // 10 :], found[: len(found) // 10]


class Reader:
    """Turns words and classes into ids.

    Args:
        reviews: The reviews to learn from. A word that they have only once is
            unknown.
    """

    def __init__(self, reviews: list[Review]):
        seen = Counter(word for review in reviews for word in review.words)
        known = sorted(word for word, count in seen.items() if count > 1)
        self.ids = {word: n for n, word in enumerate(known, UNKNOWN + 1)}
        self.classes = sorted({review.label for review in reviews})

    def words(self, reviews: list[Review]) -> np.ndarray:
        """Return the ids of all words, padded: `(N, T)`."""
        ids = [
            [self.ids.get(word, UNKNOWN) for word in review.words]
            for review in reviews
        ]
        return keras.utils.pad_sequences(ids, padding="post", value=PADDING)

    def labels(self, reviews: list[Review]) -> np.ndarray:
        """Return the ids of the classes: `(N,)`."""
        return np.array([self.classes.index(r.label) for r in reviews])


def make_model(vocabulary_size: int, classes: int, units: int) -> keras.Model:
    """Make a model from ids `(B, T)` to logits and weights `(B, T)`."""
    ids = keras.Input((None,), dtype="int32", name="words")
    words = keras.layers.Embedding(vocabulary_size, units, mask_zero=True)(ids)
    states = keras.layers.Bidirectional(
        keras.layers.LSTM(units, return_sequences=True)
    )(words)
    pooled, weights = AttentionPooling(units, name="weights")(
        states,
        mask=keras.ops.not_equal(ids, PADDING),
        return_attention_scores=True,
    )
    hidden = keras.layers.Dense(units, "tanh")(pooled)
    logits = keras.layers.Dense(classes, name="logits")(hidden)
    return keras.Model(ids, [logits, weights])


def train(
    reviews: list[Review],
    held_out: list[Review],
    reader: Reader,
    units: int,
    epochs: int,
) -> keras.Model:
    """Train a classifier.

    Args:
        reviews: The reviews to learn from.
        held_out: The reviews for validation.
        reader: The `Reader` that turns them into ids.
        units: Size of the embeddings, of the LSTM in each direction, and of
            the attention.
        epochs: Number of epochs.
    """
    model = make_model(len(reader.ids) + 2, len(reader.classes), units)
    classifier = keras.Model(model.inputs, model.outputs[0])
    classifier.compile(
        keras.optimizers.Adam(0.01, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    classifier.fit(
        reader.words(reviews),
        reader.labels(reviews),
        batch_size=32,
        epochs=epochs,
        validation_data=(reader.words(held_out), reader.labels(held_out)),
        verbose=2,
    )
    return model


def export(model: keras.Model, words: np.ndarray, file: Path):
    """Export a classifier, run the file, and print how it answers.

    Args:
        model: The model, from ids to logits and weights.
        words: The ids of some texts, `(N, T)`.
        file: Where to write it, `*.tflite`.
    """
    keras_attention.export_model(model, file, sample=words[:4])
    litert = require("ai_edge_litert.interpreter", "litert", "classify_text.py")
    run = litert.Interpreter(str(file)).get_signature_runner("serving_default")
    wanted = model.predict(words, verbose=0)[0].argmax(axis=1)
    found = [run(words=row[None])["logits"].argmax() for row in words]
    same = np.mean(found == wanted)
    print(f"File: {file}, {file.stat().st_size / 1000:.0f} kB")
    print(f"Same class as the model: {same:.0%} of the texts")


def report(
    reviews: list[Review], right: list[bool], weights: np.ndarray
) -> dict[str, float]:
    """Print the accuracy, and the weight on the clause that decides.

    Args:
        reviews: The reviews that were classified.
        right: Whether each was classified right.
        weights: The weight of each word, `(N, T)`.

    Returns:
        The numbers printed, by name.
    """
    found = {"accuracy": float(np.mean(right))}
    if all(review.deciding for review in reviews):
        rows = list(zip(reviews, weights, strict=True))
        found["weight on the clause that decides"] = float(
            np.mean([row[list(r.deciding)].sum() for r, row in rows])
        )
        found["its share of all words"] = float(
            np.mean([len(r.deciding) / len(r.words) for r in reviews])
        )
        found["most weight on a word of it"] = float(
            np.mean([row.argmax() in r.deciding for r, row in rows])
        )
    for name, value in found.items():
        print(f"{name:34} {value:7.1%}")
    return found


def draw(
    reviews: list[Review], said: list[str], weights: np.ndarray, file: Path
):
    """Draw texts, with the weight of each word as its background colour.

    Args:
        reviews: The texts.
        said: The classes that the model gave them.
        weights: The weight of each word, `(N, T)`.
        file: Where to write the picture.
    """
    figure = require("matplotlib.figure", "plots", "classify_text.py")
    places = [lay_out(review.words) for review in reviews]
    tops = np.cumsum([0.8] + [place[-1][0] + 1.4 for place in places])
    margin = 3 + max(map(len, said))
    inches = LETTER * (margin + LINE + 1), 0.24 * (tops[-1] + 0.7)
    page = figure.Figure(inches, dpi=120)
    ax = page.add_axes((0, 0, 1, 1))
    ax.set(xlim=(-margin, LINE + 1), ylim=(tops[-1] + 0.7, 0))
    ax.set_axis_off()
    ax.text(0, tops[-1], LEGEND, size=9, va="center", color="0.4")
    for n, review in enumerate(reviews):
        top, right = tops[n], said[n] == review.label
        style = {"family": "monospace", "size": 10, "va": "center"}
        color = "black" if right else "tab:red"
        ax.text(-2, top, said[n], ha="right", color=color, **style)
        for at, (line, column) in enumerate(places[n]):
            word, y = review.words[at], top + line
            ax.add_patch(box(column, y, len(word), alpha=weights[n, at]))
            ax.text(column, y, word, **style)
            if at in review.deciding:
                ax.hlines(y + 0.38, column, column + len(word), "tab:blue")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(file)


def box(column: int, y: float, letters: int, alpha: float):
    """Make the coloured box behind a word."""
    patches = require("matplotlib.patches", "plots", "classify_text.py")
    corner, size = (column - 0.3, y - 0.45), letters + 0.6
    return patches.Rectangle(corner, size, 0.9, color="orange", alpha=alpha)


def lay_out(words: list[str]) -> list[tuple[int, int]]:
    """Break words into lines: return the line and the column of each.

    There is no space before a punctuation mark.
    """
    line = column = 0
    places = []
    for word in words:
        if column and not re.match(r"\w", word):
            column -= 1
        if column + len(word) > LINE:
            line, column = line + 1, 0
        places.append((line, column))
        column += len(word) + 1
    return places


def main(
    quick: bool = False,
    data: str | Path | None = None,
    output: str | Path = "outputs",
    seed: int = 0,
) -> dict[str, float]:
    """Train, test, and draw which words decided.

    Args:
        quick: Whether to train for seconds only, to try the code.
        data: File of your own texts. Defaults to reviews that are made up.
        output: Folder of the picture and of the file.
        seed: Seed of all random numbers.

    Returns:
        What was measured on the held-out texts, by name.
    """
    began = time.perf_counter()
    require("matplotlib.figure", "plots", "classify_text.py")
    keras.utils.set_random_seed(seed)
    if data:
        reviews, held_out = read(data, seed)
    else:
        reviews = make_reviews(1000 if quick else 4000, False, seed)
        held_out = make_reviews(200 if quick else 1000, True, seed + 1)
    print(f"Training texts: {len(reviews)}, held out: {len(held_out)}")
    reader = Reader(reviews)
    units, epochs = 16, 6 if quick else 5
    model = train(reviews, held_out, reader, units, epochs)
    logits, weights = model.predict(reader.words(held_out), verbose=0)
    said = [reader.classes[n] for n in logits.argmax(axis=1)]
    right = [a == b.label for a, b in zip(said, held_out, strict=True)]
    found = report(held_out, right, weights)
    picture = Path(output) / PICTURE
    draw(held_out[:SHOWN], said[:SHOWN], weights, picture)
    if keras.backend.backend() == "tensorflow":
        words = reader.words(held_out[:SHOWN])
        export(model, words, Path(output) / FILE)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", metavar="FILE", help="class, tab, text")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
