"""How well does a small attentive RNN translate real captions?

Trains a bidirectional LSTM encoder and an attentional decoder on Multi30k
(29,000 captions), and prints BLEU on its test set of 2016:

    python examples/translate_multi30k.py --data multi30k --download

`--data` is a folder with `train`, `val` and `test_2016_flickr` of both
languages, one sentence a line, plain or gzip: `train.de.gz`, `train.en.gz`...
`--download` fetches them there first. It needs the extras `text` and
`evaluation`; `--plot` needs `plots`.
"""

import argparse
import gzip
import random
import tempfile
import time
from pathlib import Path

import keras

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
from keras_attention import plot_attention
from keras_attention.extras import require
from keras_attention.text import read_lines
from keras_attention.text import read_parallel

ORIGIN = (
    "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
)
SHA256 = {
    "test_2016_flickr.de.gz": (
        "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"
    ),
    "test_2016_flickr.en.gz": (
        "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"
    ),
    "test_2016_flickr.fr.gz": (
        "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90"
    ),
    "train.de.gz": (
        "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"
    ),
    "train.en.gz": (
        "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"
    ),
    "train.fr.gz": (
        "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c"
    ),
    "val.de.gz": (
        "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"
    ),
    "val.en.gz": (
        "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"
    ),
    "val.fr.gz": (
        "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9"
    ),
}
PARTS = ("train", "val", "test_2016_flickr")


def download(folder: Path, languages: list[str]):
    """Fetch the parts of Multi30k that are not there; check every file."""
    for part in PARTS:
        for language in languages:
            name = f"{part}.{language}.gz"
            keras.utils.get_file(
                name,
                origin=f"{ORIGIN}/{name}",
                file_hash=SHA256[name],
                cache_dir=folder.resolve(),
                cache_subdir="",
            )


def find(folder: Path, part: str, language: str) -> Path:
    """Find one file, plain or gzip."""
    plain = folder / f"{part}.{language}"
    packed = folder / f"{part}.{language}.gz"
    if plain.exists():
        return plain
    if packed.exists():
        return packed
    raise SystemExit(
        f"There is neither {plain} nor {packed}. Name the folder of the data "
        "by --data, or add --download to fetch Multi30k into it."
    )


def build(source, target, units: int, dropout: float) -> Seq2Seq:
    """Make the model for two tokenizers."""
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(units),
        BahdanauAttention(units),
        attention_layer_size=units,
    )
    return Seq2Seq(
        source_vocabulary_size=source.vocabulary_size,
        target_vocabulary_size=target.vocabulary_size,
        embedding_dim=units,
        encoder=RecurrentEncoder(units),
        bridge=StateBridge(units=units),
        decoder=AttentionDecoder(cell),
        tie_embeddings=True,
        dropout=dropout,
    )


def train(model, files, tokenizers, epochs: int, batch_size: int):
    """Fit, with validation and early stopping."""
    batches = parallel_dataset(
        *files["train"],
        *tokenizers,
        batch_size,
        training=True,
        seed=1,
        max_length=60,
    )
    validation = parallel_dataset(*files["val"], *tokenizers, batch_size)
    model.compile(
        keras.optimizers.Adam(1e-3, global_clipnorm=1.0),
        loss=SequenceCrossentropy(label_smoothing=0.1),
        metrics=[TokenAccuracy()],
    )
    model.fit(
        batches,
        validation_data=validation,
        epochs=epochs,
        shuffle=False,  # `parallel_dataset` has done it
        verbose=2,
        callbacks=[
            keras.callbacks.ReduceLROnPlateau(
                factor=0.3, patience=0, min_delta=0.02, verbose=1
            ),
            keras.callbacks.EarlyStopping(
                patience=1,
                min_delta=0.002,
                restore_best_weights=True,
                verbose=1,
            ),
        ],
    )


def bleu(translator, files) -> str:
    """Score the test set: sacreBLEU, 13a, lowercased."""
    sacrebleu = require("sacrebleu", "evaluation", "translate_multi30k.py")
    source, target = (read_lines(file) for file in files)
    metric = sacrebleu.metrics.BLEU(lowercase=True)
    score = metric.corpus_score(translator(source), [target])
    return f"{score}\n{metric.get_signature()}"


def main(
    data: str | None = None,
    source: str = "de",
    target: str = "en",
    epochs: int = 10,
    units: int = 256,
    export: str | None = None,
    plot: str | None = None,
    quick: bool = False,
) -> str:
    """Run the whole job.

    Args:
        data: Folder of the corpus.
        source: Language to translate from.
        target: Language to translate to.
        epochs: The most epochs.
        units: Size of every layer.
        export: Where to write a SavedModel, if anywhere.
        plot: Where to draw the attention to the first test sentence.
        quick: Whether to run on a few made-up sentences, to try the code.

    Returns:
        BLEU and its signature.
    """
    start = time.time()
    if quick:
        data, epochs, units = made_up_corpus(source, target), 1, 16
    files = {
        part: [find(Path(data), part, side) for side in (source, target)]
        for part in PARTS
    }
    for both in files.values():
        read_parallel(*both)  # a broken file stops it now, not after training
    tokenizers = [
        WordTokenizer.train([file], 8000, lowercase=True, min_frequency=2)
        for file in files["train"]
    ]
    print("Vocabularies:", *(t.vocabulary_size for t in tokenizers))
    model = build(*tokenizers, units, dropout=0.3)
    train(model, files, tokenizers, epochs, batch_size=4 if quick else 64)
    print(f"Trained after {(time.time() - start) / 60:.1f} minutes")
    translator = Translator(model, *tokenizers, GreedySearch(max_length=60))
    score = bleu(translator, files["test_2016_flickr"])
    print(score)
    sentences = read_lines(files["test_2016_flickr"][0])[:5]
    shown = translator(sentences, return_attention_scores=True)
    for sentence, translation in zip(sentences, shown.texts, strict=True):
        print(f"{sentence}\n -> {translation}")
    if plot:
        axes = plot_attention(
            shown.attention[0], shown.source_tokens[0], shown.target_tokens[0]
        )
        axes.figure.savefig(plot, bbox_inches="tight")
    if export:
        translator.export(export)
    print(f"All done after {(time.time() - start) / 60:.1f} minutes")
    return score


def made_up_corpus(source: str, target: str) -> Path:
    """Write a corpus whose target is the source, word by word reversed."""
    folder = Path(tempfile.mkdtemp())
    draw = random.Random(0)
    for part, count in zip(PARTS, (32, 8, 6), strict=True):
        lines = [draw.choices("abcdefgh", k=5) for _ in range(count)]
        for language, turn in ((source, 1), (target, -1)):
            text = "".join(" ".join(line[::turn]) + "\n" for line in lines)
            with gzip.open(folder / f"{part}.{language}.gz", "wt") as file:
                file.write(text)
    return folder


def arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of the corpus")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--download", action="store_true")
    parser.add_argument("--export", help="folder for a SavedModel")
    parser.add_argument("--plot", help="file for a picture of the attention")
    parser.add_argument("--quick", action="store_true")
    given = vars(parser.parse_args())
    if not (given["data"] or given["quick"]):
        parser.error("--data is needed: the folder of the corpus")
    if given.pop("download"):
        languages = [given["source"], given["target"]]
        Path(given["data"]).mkdir(parents=True, exist_ok=True)
        download(Path(given["data"]), languages)
    return given


if __name__ == "__main__":
    main(**arguments())
