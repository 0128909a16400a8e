"""Do several caption translators translate better than one?

The example combines translators into an `Ensemble`. `translate_multi30k.py
--save` has trained them with different random seeds. The example measures and
exports the ensemble as `translate_multi30k.py` does with a single model:

    python examples/multi30k_together.py outputs/one outputs/two \
        --data multi30k --source en --target de --export outputs/both

`--epochs 8` also trains a language model on the target captions, and measures
the BLEU of `ShallowFusion` with several weights on `val`, and with the best
weight on the test set. The example needs the extras `text`, `evaluation` and
`plots`; `--export` also needs `litert` and `onnx`.
"""

import argparse
import tempfile
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
from helpers.multi30k import made_up_corpus
from helpers.multi30k_recipe import build
from helpers.multi30k_report import export as export_all
from helpers.multi30k_report import measure
from helpers.multi30k_report import report
from translate_multi30k import make_recipe
from translate_multi30k import make_tokenizer
from translate_multi30k import read_corpus

from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention import LanguageModel
from keras_attention import SequenceCrossentropy
from keras_attention import ShallowFusion
from keras_attention import Translator
from keras_attention import parallel_dataset
from keras_attention.text import read_lines

WEIGHTS = (0.0, 0.05, 0.1, 0.2)  # of the language model
UNITS, BATCH = 512, 64


def train_language_model(files: dict, tokenizer, epochs: int) -> LanguageModel:
    """Train on the target's side alone.

    Args:
        files: Source and target file of each part.
        tokenizer: Of the target.
        epochs: How long.

    Returns:
        The model with the weights of the best epoch on `val`.
    """
    train, val = (
        parallel_dataset(
            *2 * files[part][1:], *2 * [tokenizer], BATCH, **options
        )
        for part, options in (("train", {"training": True}), ("val", {}))
    )
    model = LanguageModel(
        tokenizer.vocabulary_size,
        UNITS,
        keras.layers.LSTMCell(UNITS),
        tie_embeddings=True,
        dropout=0.4,
    )
    model.compile(keras.optimizers.Adam(1e-3), SequenceCrossentropy())
    best = keras.callbacks.EarlyStopping(
        patience=epochs, restore_best_weights=True
    )
    model.fit(
        train,
        validation_data=val,
        epochs=epochs,
        shuffle=False,  # `parallel_dataset` shuffles
        verbose=2,
        callbacks=[best],
    )
    return model


def try_fusion(
    translator: Translator, helper: LanguageModel, files: dict, language: str
) -> Translator:
    """Print the BLEU (Moses) of `val` for weights of a language model.

    That of the test set is printed for the best of them.

    Args:
        translator: Of the ensemble, with a beam search.
        helper: The language model.
        files: Source and target file of each part.
        language: The target's.

    Returns:
        The translator with the best of them.
    """

    def score(fused, weight, part):
        sources, wanted = map(read_lines, files[part])
        texts = fused(sources, verbose=0)
        found = measure(texts, wanted, language)["moses"].score
        print(f"Language model x {weight}: {found:.1f} on {part}")
        return found

    tried = []
    for weight in WEIGHTS:
        fused = Translator(
            ShallowFusion(translator.model, helper, weight),
            translator.source_tokenizer,
            translator.target_tokenizer,
            translator.search,
        )
        tried.append((score(fused, weight, "val"), weight, fused))
    _, weight, best = max(tried, key=lambda one: one[0])
    score(best, weight, "test_2016_flickr")
    return best


def try_out(source: str, target: str) -> tuple[list[Path], Path]:
    """Save two tiny translators; return their folders, and their corpus."""
    data = made_up_corpus(source, target)
    files = read_corpus(data, source, target)
    recipe = make_recipe(True, "word", 0, 0)
    tokenizer = make_tokenizer("word", files["train"], recipe.vocabulary_size)
    folders = [Path(tempfile.mkdtemp()) for _ in range(2)]
    for folder in folders:
        model = build(recipe, tokenizer.vocabulary_size)
        model.build(((None, None), (None, None)))
        Translator(model, tokenizer, tokenizer, GreedySearch()).save(folder)
    return folders, data


def main(
    quick: bool = False,
    translators: list[str | Path] | None = None,
    data: str | Path | None = None,
    source: str = "de",
    target: str = "en",
    beam: int = 5,
    epochs: int = 0,
    export: str | Path | None = None,
    folder: str | Path = "outputs/multi30k_together",
) -> str:
    """Join, measure, and export on request.

    Args:
        quick: Whether to join two tiny translators of a made-up corpus, to
            try the code.
        translators: Folders of translators that share their pieces.
        data: Folder of the corpus.
        source: Language to translate from.
        target: Language to translate to.
        beam: Number of hypotheses that the search keeps.
        epochs: Of a language model; without any, none is trained.
        export: Folder for a SavedModel, a LiteRT and an ONNX file, if any.
        folder: For the ensemble, its report and its translations.

    Returns:
        BLEU of the test set and its signature.
    """
    if quick:
        translators, data = try_out(source, target)
    keras.utils.set_random_seed(1)
    folder, files = Path(folder), read_corpus(Path(data), source, target)
    first, *others = map(Translator.load, translators)
    model = Ensemble([first.model, *(x.model for x in others)])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = first.target_tokenizer
    translator, score = report(
        model, tokenizer, files, target, beam, folder, False
    )
    translator.save(folder / "translator")
    if export:
        test = [read_lines(file) for file in files["test_2016_flickr"]]
        export_all(translator, Path(export), test, target)
    if epochs:
        helper = train_language_model(files, tokenizer, epochs)
        fused = try_fusion(translator, helper, files, target)
        fused.save(folder / "with_language_model")
    return score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("translators", nargs="*", metavar="TRANSLATOR")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", help="folder with the files of the corpus")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--export", help="folder for the exported models")
    parser.add_argument(
        "--folder", default="outputs/multi30k_together", metavar="DIR"
    )
    given = parser.parse_args()
    if not given.quick and not (given.translators and given.data):
        parser.error("TRANSLATOR and --data are required")
    main(**vars(given))
