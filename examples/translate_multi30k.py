"""How well does a small attentive RNN translate real captions?

The example trains a bidirectional LSTM encoder and an attentional decoder on
Multi30k (29,000 captions), and measures BLEU on the test set of 2016:

    python examples/translate_multi30k.py --data multi30k --download

`--data` is a folder with the parts `train`, `val` and `test_2016_flickr` in two
languages, one sentence per line, plain or gzip: `train.de.gz`, `train.en.gz`
and so on. `--download` first downloads these files into the folder. The example
needs the extras `text`, `evaluation` and `plots`; `--export` also needs
`litert` and `onnx`.

`helpers/multi30k_recipe.py` contains the recipe: one vocabulary of cased
subwords; one embedding matrix for source, target and output; lexical
translation; dropout of embeddings, outputs and states; label smoothing; and
averaged weights. The epoch with the best BLEU on `val` is saved.

`--folder` contains the state of the training. If the training is interrupted,
the same command resumes it; if it has ended, the command only measures BLEU.
Everything except `--export` also runs without TensorFlow, for example on a
machine with a GPU, with the extras `sentencepiece`, `evaluation` and `plots`:

    KERAS_BACKEND=jax python examples/translate_multi30k.py --data multi30k

On a processor without AVX-512, `TF_ENABLE_ONEDNN_OPTS=1` before such a command
saves a third of the time.
"""

import argparse
import tempfile
import time
from dataclasses import asdict
from dataclasses import replace
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
from helpers.multi30k import PARTS
from helpers.multi30k import download
from helpers.multi30k import find
from helpers.multi30k import made_up_corpus
from helpers.multi30k_recipe import WEIGHTS
from helpers.multi30k_recipe import Recipe
from helpers.multi30k_recipe import build
from helpers.multi30k_recipe import claim
from helpers.multi30k_recipe import train
from helpers.multi30k_report import draw_attention
from helpers.multi30k_report import export as export_all
from helpers.multi30k_report import plot_curves
from helpers.multi30k_report import report

import keras_attention
from keras_attention import GreedySearch
from keras_attention import SentencePieceTokenizer
from keras_attention import Translator
from keras_attention import ValidationScores
from keras_attention import WordTokenizer
from keras_attention import parallel_dataset
from keras_attention.data.pairs import read_parallel
from keras_attention.text import read_lines

TOKENIZERS = ("sentencepiece", "word", "wordpiece")
QUICK = {"units": 16, "epochs": 1, "batch_size": 4, "vocabulary_size": 30}


def make_recipe(quick: bool, tokenizer: str, units: int, epochs: int) -> Recipe:
    """Choose the recipe for the arguments of `main`."""
    recipe = Recipe(units=units, epochs=epochs)
    if tokenizer != "sentencepiece":
        recipe = replace(recipe, sample_subwords=0.0)
    return replace(recipe, **QUICK) if quick else recipe


def make_tokenizer(name: str, files: list[Path], size: int):
    """Train one tokenizer on both languages."""
    if name == "word":
        return WordTokenizer.train(files, size, min_frequency=2)
    if name == "wordpiece":
        return keras_attention.WordPieceTokenizer.train(files, size)
    return SentencePieceTokenizer.train(
        files, size, model_type="bpe", character_coverage=1.0
    )


def read_corpus(data: Path, source: str, target: str) -> dict:
    """Find the files of all parts, and a broken one before training."""
    files = {
        part: [find(data, part, side) for side in (source, target)]
        for part in PARTS
    }
    for both in files.values():
        read_parallel(*both)
    return files


def read_batches(files: dict, tokenizer, recipe: Recipe, seed: int) -> list:
    """Read the batches of training and of validation."""
    both = tokenizer, tokenizer
    return [
        parallel_dataset(
            *files["train"],
            *both,
            recipe.batch_size,
            training=True,
            seed=seed,
            max_length=60,
            sample_subwords=recipe.sample_subwords,
        ),
        parallel_dataset(*files["val"], *both, recipe.batch_size),
    ]


def fit(recipe: Recipe, files: dict, tokenizer, seed: int, folder: Path):
    """Train a model, or load the one that was trained; return it."""
    model = build(recipe, tokenizer.vocabulary_size)
    model.build(((None, None), (None, None)))
    if not (folder / WEIGHTS).exists():
        search = GreedySearch(max_length=60)
        greedy = Translator(model, tokenizer, tokenizer, search)
        scores = ValidationScores(greedy, *map(read_lines, files["val"]))
        batches = read_batches(files, tokenizer, recipe, seed)
        train(model, recipe, *batches, scores, folder)
    model.load_weights(folder / WEIGHTS)
    return model


def finish(
    model, tokenizer, files, language, beam, folder, words, save, export, plot
) -> str:
    """Measure a trained model, and write what was asked for.

    Returns:
        BLEU of the test set and its signature.
    """
    translator, score = report(
        model, tokenizer, files, language, beam, folder, words
    )
    test = [read_lines(file) for file in files["test_2016_flickr"]]
    draw_attention(translator, test[0], Path(plot or folder / "attention.png"))
    plot_curves(folder / "curves.csv")
    if save:
        translator.save(save)
        print(f"Translator: {save}")
    if export:
        export_all(translator, Path(export), test, language)
    return score


def default_folder(source: str, target: str, seed: int) -> str:
    """Name the folder of a training."""
    return f"outputs/multi30k_{source}_{target}_{seed}"


def minutes_since(start: float) -> str:
    """Tell how long this process has run, and on how many cores."""
    minutes, cpu = (time.time() - start) / 60, time.process_time() / 60
    return f"{minutes:.1f} minutes, {cpu:.1f} of all cores"


def main(
    quick: bool = False,
    data: str | Path | None = None,
    source: str = "de",
    target: str = "en",
    tokenizer: str = "sentencepiece",
    epochs: int = 20,
    units: int = 256,
    beam: int = 5,
    save: str | Path | None = None,
    export: str | Path | None = None,
    plot: str | Path | None = None,
    folder: str | Path | None = None,
    seed: int = 1,
) -> str:
    """Train, test, and save and export on request.

    Args:
        quick: Whether to run on a few made-up sentences, to try the code.
        data: Folder of the corpus.
        source: Language to translate from.
        target: Language to translate to.
        tokenizer: Kind of the tokens: `"sentencepiece"`, `"word"` or
            `"wordpiece"`. Only the first can cut words in several ways.
        epochs: The most epochs.
        units: Size of embeddings and of each direction of the encoder.
        beam: Number of hypotheses that the search keeps.
        save: Folder for the translator, for later use in Python, if any.
        export: Folder for a SavedModel, a LiteRT and an ONNX file, if any.
        plot: File for the attention of ten test sentences. Defaults to
            `attention.png` in `folder`.
        folder: Folder of the training, and of what it leaves. Defaults to
            one in `outputs` with the languages and the seed in its name.
        seed: Seed of weights, dropout, order and segmentation.

    Returns:
        BLEU of the test set and its signature.
    """
    start = time.time()
    recipe = make_recipe(quick, tokenizer, units, epochs)
    if quick:
        data = made_up_corpus(source, target)
        folder = folder or tempfile.mkdtemp()
    folder = Path(folder or default_folder(source, target, seed))
    keras.utils.set_random_seed(seed)
    files = read_corpus(Path(data), source, target)
    about = {
        "recipe": asdict(recipe),
        "languages": [source, target],
        "tokenizer": tokenizer,
        "seed": seed,
    }
    tokenizer = make_tokenizer(
        tokenizer, files["train"], recipe.vocabulary_size
    )
    print(f"Vocabulary: {tokenizer.vocabulary_size}")
    claim(folder, about)
    model = fit(recipe, files, tokenizer, seed, folder)
    print(f"Trained after {minutes_since(start)}")
    words = about["tokenizer"] == "word"  # others know every word
    score = finish(
        model, tokenizer, files, target, beam, folder, words, save, export, plot
    )
    print(f"All done after {minutes_since(start)}")
    return score


def arguments() -> dict:
    """Read the command line, and download the corpus on request."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", help="folder with the files of the corpus")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument(
        "--tokenizer", default=TOKENIZERS[0], choices=TOKENIZERS
    )
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--download", action="store_true")
    parser.add_argument("--save", help="folder for the translator")
    parser.add_argument("--export", help="folder for the exported models")
    parser.add_argument(
        "--plot", help="file for a picture of the attention weights"
    )
    parser.add_argument("--folder", help="folder for the state of the training")
    parser.add_argument("--seed", type=int, default=1)
    given = vars(parser.parse_args())
    if not (given["data"] or given["quick"]):
        parser.error(
            "--data is required: the folder with the files of the corpus"
        )
    if given.pop("download"):
        languages = [given["source"], given["target"]]
        Path(given["data"]).mkdir(parents=True, exist_ok=True)
        download(Path(given["data"]), languages)
    return given


if __name__ == "__main__":
    main(**arguments())
