"""Why attention? Because one vector cannot hold a long sentence.

Trains two encoder-decoders of the same parts, one with attention and one
without, and draws how well they translate sentences of each length:

    python examples/long_sentences.py

Without attention all that the decoder knows of a sentence is the encoder's
last state ([Cho et al., 2014](https://arxiv.org/abs/1409.1259)); with it,
every word looks up what it needs ([Bahdanau et al., 2015](
https://arxiv.org/abs/1409.0473), whose figure 2 this is). The sentences are
generated: rows of English nouns, some after an adjective, in French, where the
adjective comes second. Some are longer than all that were trained. Real ones
take an hour:

    python examples/long_sentences.py --data multi30k

`--data` is a folder as `translate_multi30k.py` fetches it. It needs the extras
`text`, `evaluation` and `plots`.
"""

import argparse
import random
import tempfile
import time
from pathlib import Path

import keras
from multi30k import PARTS
from multi30k import find

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import TokenAccuracy
from keras_attention import Translator
from keras_attention import WordTokenizer
from keras_attention import parallel_dataset
from keras_attention.extras import require
from keras_attention.text import read_lines

ROOT = Path(__file__).parents[1]
PICTURE = "docs/long_sentences.png"
NOUNS = {
    "cat": "chat",
    "dog": "chien",
    "tree": "arbre",
    "book": "livre",
    "boat": "bateau",
    "bird": "oiseau",
    "bread": "pain",
    "garden": "jardin",
    "horse": "cheval",
    "train": "train",
}
ADJECTIVES = {
    "red": "rouge",
    "black": "noir",
    "white": "blanc",
    "green": "vert",
    "yellow": "jaune",
    "sad": "triste",
    "light": "léger",
    "slow": "lent",
    "warm": "chaud",
    "calm": "calme",
}
SHORTEST, TRAINED, LONGEST = 4, 18, 27  # words of generated sentences
WIDTH = 3  # lengths that are one point of a line
FEW = 20  # sentences: fewer are no point
LINES = {"with attention": True, "without attention": False}
BATCH_SIZE = 64


def write_corpus(folder: Path, counts: tuple[int, ...], seed: int) -> Path:
    """Write generated sentences into files that are named as Multi30k's.

    Args:
        folder: Where to.
        counts: Sentences to train, to validate and to test.
        seed: The same seed writes the same.
    """
    draw = random.Random(seed)
    for part, count in zip(PARTS, counts, strict=True):
        longest = LONGEST if part == PARTS[-1] else TRAINED
        lengths = [draw.randint(SHORTEST, longest) for _ in range(count)]
        pairs = [make_pair(length, draw) for length in lengths]
        for side, language in enumerate(("en", "fr")):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{part}.{language}").write_text(text)
    return folder


def make_pair(length: int, draw: random.Random) -> tuple[str, str]:
    """Write a sentence of so many words, and its translation."""
    source, target = [], []
    while len(source) < length:
        noun = draw.choice(list(NOUNS))
        words = [noun]
        if len(source) + 1 < length and draw.random() < 0.5:
            words = [draw.choice(list(ADJECTIVES)), noun]
        source += words
        target += [{**NOUNS, **ADJECTIVES}[word] for word in reversed(words)]
    return " ".join(source), " ".join(target)


def build(source, target, units: int, dropout: float, attends: bool):
    """Make the model for two tokenizers, with attention or without."""
    attention = BahdanauAttention(units) if attends else None
    cell = AttentionDecoderCell(keras.layers.LSTMCell(units), attention)
    return Seq2Seq(
        source_vocabulary_size=source.vocabulary_size,
        target_vocabulary_size=target.vocabulary_size,
        embedding_dim=units,
        encoder=RecurrentEncoder(units // 2),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
        dropout=dropout,
    )


def train(model, files, tokenizers, epochs: int):
    """Fit, with a rate that falls to zero."""
    batches = parallel_dataset(
        *files["train"], *tokenizers, BATCH_SIZE, training=True, seed=1
    )
    validation = parallel_dataset(*files["val"], *tokenizers, BATCH_SIZE)
    rate = keras.optimizers.schedules.CosineDecay(0.003, epochs * len(batches))
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=1.0),
        loss=SequenceCrossentropy(),
        metrics=[TokenAccuracy()],
    )
    model.fit(
        batches,
        validation_data=validation,
        epochs=epochs,
        shuffle=False,  # `parallel_dataset` has done it
        verbose=2,
    )


def by_length(sources: list[str]) -> dict[float, list[int]]:
    """Sort sentences into groups of similar length.

    Args:
        sources: The sentences.

    Returns:
        Of each group that is not too small, by the middle of its lengths, which
        sentences are in it.
    """
    groups = {}
    for i, source in enumerate(sources):
        first = (len(source.split()) - 1) // WIDTH * WIDTH + 1
        groups.setdefault(first + (WIDTH - 1) / 2, []).append(i)
    return {
        middle: rows
        for middle, rows in sorted(groups.items())
        if len(rows) >= FEW
    }


def bleu(found: list[str], wanted: list[str]) -> float:
    """Score a group: sacreBLEU, 13a, lowercased."""
    sacrebleu = require("sacrebleu", "evaluation", "long_sentences.py")
    metric = sacrebleu.metrics.BLEU(lowercase=True)
    return metric.corpus_score(found, [wanted]).score


def compare(files, units: int, epochs: int, dropout: float) -> dict:
    """Train both models, and score them on the test set, group by group.

    Args:
        files: Of each part of the corpus, the source's and the target's file.
        units: Size of every layer.
        epochs: How often all pairs are seen.
        dropout: Rate of dropout.

    Returns:
        By the name of each line, BLEU of each group by its middle.
    """
    tokenizers = [
        WordTokenizer.train([file], 8000, lowercase=True, min_frequency=2)
        for file in files["train"]
    ]
    sources, targets = map(read_lines, files[PARTS[-1]])
    lines = {}
    for name, attends in LINES.items():
        print(name)
        model = build(*tokenizers, units, dropout, attends)
        train(model, files, tokenizers, epochs)
        search = GreedySearch(max_length=60)
        found = Translator(model, *tokenizers, search)(sources, verbose=0)
        lines[name] = {
            middle: bleu([found[i] for i in rows], [targets[i] for i in rows])
            for middle, rows in by_length(sources).items()
        }
    return lines


def report(lines: dict):
    """Print BLEU of each group of lengths."""
    print(f"{'words':>8}" + "".join(f"{name:>20}" for name in lines))
    for middle in next(iter(lines.values())):
        first, last = middle - (WIDTH - 1) / 2, middle + (WIDTH - 1) / 2
        row = "".join(f"{line[middle]:20.1f}" for line in lines.values())
        print(f"{f'{first:.0f} to {last:.0f}':>8}{row}")


def draw(lines: dict, longest: int, file: Path):
    """Draw quality over length, and how long trained sentences are at most."""
    plt = require("matplotlib.pyplot", "plots", "long_sentences.py")
    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for (name, line), mark in zip(lines.items(), "os", strict=True):
        ax.plot(line.keys(), line.values(), f"-{mark}", label=name)
    right = ax.get_xlim()[1]
    if longest < right:
        ax.axvspan(longest + 0.5, right, color="0.93", zorder=0)
        ax.text(right, 1, "longer than any trained ", ha="right", va="bottom")
        ax.set_xlim(right=right)
    ax.set(xlabel="words of the source", ylabel="BLEU")
    ax.set_ylim(bottom=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main(
    data: str | None = None,
    source: str = "de",
    target: str = "en",
    epochs: int | None = None,
    units: int | None = None,
    quick: bool = False,
    picture: str | None = None,
    seed: int = 0,
) -> dict:
    """Train both models, and print and draw quality by length.

    Args:
        data: Folder of Multi30k. Defaults to generated sentences.
        source: Language to translate from, of Multi30k.
        target: Language to translate to, likewise.
        epochs: How often all pairs are seen. Defaults to a fitting number.
        units: Size of every layer. Defaults to a fitting size.
        quick: Whether to show in seconds that everything runs, with a picture
            that is gone afterwards.
        picture: File of the picture. Defaults to `docs/long_sentences.png`;
            with data, to no picture.
        seed: Which random numbers to draw.

    Returns:
        By the name of each line, BLEU by the middle of the lengths.
    """
    began = time.perf_counter()
    keras.utils.set_random_seed(seed)
    usual = (256, 10, 0.3) if data else (64, 6, 0.0)
    usual = (16, 1, 0.0) if quick else usual
    setting = units or usual[0], epochs or usual[1], usual[2]
    with tempfile.TemporaryDirectory() as temporary:
        folder, languages = Path(data or temporary), (source, target)
        place = Path(temporary) if quick or data else ROOT
        if not data:
            languages = "en", "fr"
            counts = (128, 64, 300) if quick else (16000, 500, 1600)
            write_corpus(folder, counts, seed)
        files = {
            part: [find(folder, part, side) for side in languages]
            for part in PARTS
        }
        lines = compare(files, *setting)
        report(lines)
        longest = max(len(x.split()) for x in read_lines(files["train"][0]))
        draw(lines, longest, Path(picture or place / PICTURE))
    print(f"{time.perf_counter() - began:.0f} seconds in all")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of Multi30k", metavar="DIR")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--units", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
