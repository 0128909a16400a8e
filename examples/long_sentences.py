"""Why attention? Because one vector cannot hold a long sentence.

The example trains two encoder-decoders, one with attention and one without. It
draws the BLEU of both models for each sentence length:

    python examples/long_sentences.py

Without attention, the decoder knows only the encoder's last state ([Cho et al.,
2014](https://arxiv.org/abs/1409.1259)). With attention, the decoder reads the
whole source for every word. The picture reproduces figure 2 of [Bahdanau et
al., 2015](https://arxiv.org/abs/1409.0473). The example generates its
sentences: rows of English nouns, some with an adjective before them, and their
French translation, in which the adjective follows its noun. Some test sentences
are longer than all training sentences. A training on real sentences takes an
hour:

    python examples/long_sentences.py --data multi30k

`--data` is a folder with the files that `translate_multi30k.py --download`
writes. The example needs the extras `text`, `evaluation` and `plots`.
"""

import argparse
import tempfile
import time
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
from helpers.french import write_corpus
from helpers.multi30k import PARTS
from helpers.multi30k import find

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

PICTURE = "long_sentences.png"
WIDTH = 3  # lengths in a group, which is one point of a line
FEW = 20  # a group with fewer sentences is left out
LINES = {"with attention": True, "without attention": False}
BATCH_SIZE = 64


def build(
    source: WordTokenizer,
    target: WordTokenizer,
    units: int,
    dropout: float,
    attends: bool,
) -> Seq2Seq:
    """Make the model for two tokenizers, with or without attention."""
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


def train(model: Seq2Seq, files: dict, tokenizers: list, epochs: int):
    """Fit, with a learning rate that falls to zero."""
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
    """Group sentences by their number of words.

    Args:
        sources: The sentences.

    Returns:
        The indices of the sentences of each group, by the middle of its
        lengths. Groups of fewer than `FEW` sentences are left out.
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
    """Compute the BLEU of a group: sacreBLEU, 13a, lowercased."""
    sacrebleu = require("sacrebleu", "evaluation", "long_sentences.py")
    metric = sacrebleu.metrics.BLEU(lowercase=True)
    return metric.corpus_score(found, [wanted]).score


def compare(
    files: dict[str, list[Path]], units: int, epochs: int, dropout: float
) -> dict[str, dict[float, float]]:
    """Train both models, and compute the BLEU of each group of test sentences.

    Args:
        files: The source and the target file of each part of the corpus.
        units: Size of every layer.
        epochs: Number of epochs.
        dropout: Rate of dropout.

    Returns:
        The BLEU of each model and group, by the name of the model and the
        middle of the group's lengths.
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


def report(lines: dict[str, dict[float, float]]):
    """Print the BLEU of each group."""
    print(f"{'words':>8}" + "".join(f"{name:>20}" for name in lines))
    for middle in next(iter(lines.values())):
        first, last = middle - (WIDTH - 1) / 2, middle + (WIDTH - 1) / 2
        row = "".join(f"{line[middle]:20.1f}" for line in lines.values())
        print(f"{f'{first:.0f} to {last:.0f}':>8}{row}")


def draw(lines: dict[str, dict[float, float]], longest: int, file: Path):
    """Draw BLEU over length.

    Args:
        lines: What `compare` returned.
        longest: Words of the longest sentence in training.
        file: Where to write the picture.
    """
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
    quick: bool = False,
    data: str | Path | None = None,
    source: str = "de",
    target: str = "en",
    epochs: int | None = None,
    units: int | None = None,
    output: str | Path = "outputs",
    seed: int = 0,
) -> dict[str, dict[float, float]]:
    """Train both models, and print and draw BLEU by length.

    Args:
        quick: Whether to train for seconds only, to try the code.
        data: Folder of Multi30k. Defaults to generated sentences.
        source: Language to translate from, with `data`.
        target: Language to translate to, with `data`.
        epochs: Number of epochs. Defaults to 10 with `data`, else to 6.
        units: Size of every layer. Defaults to 256 with `data`, else to 64.
        output: Folder of the picture.
        seed: Seed of all random numbers.

    Returns:
        The BLEU of each model and group, by the name of the model and the
        middle of the group's lengths.
    """
    began = time.perf_counter()
    require("matplotlib.pyplot", "plots", "long_sentences.py")
    keras.utils.set_random_seed(seed)
    usual = (256, 10, 0.3) if data else (64, 6, 0.0)
    usual = (16, 1, 0.0) if quick else usual
    setting = units or usual[0], epochs or usual[1], usual[2]
    with tempfile.TemporaryDirectory() as temporary:
        folder, languages = Path(data or temporary), (source, target)
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
    picture = Path(output) / PICTURE
    draw(lines, longest, picture)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", help="folder of Multi30k", metavar="DIR")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--units", type=int)
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
