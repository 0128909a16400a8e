"""Can 3,600 words teach a model to pronounce a language (G2P)?

The example trains an attentive LSTM that reads the letters of a word, and
generates its phonemes:

    python examples/pronounce.py --data g2p2020 --download --language hun

The recipe is that of `python -m keras_attention train`, and is the same for all
languages. The words of `dev` select the best epoch. The words of `test` are
used once, with beam search. A training takes a few minutes on two cores. It
writes a folder in `--output` with the translator, a LiteRT file with int8
weights, an ONNX file, the learning curves, and the attention of ten words.
`helpers/g2p2020.py` describes the data.

    python examples/pronounce.py --data g2p2020 --language all --seeds 3

This command trains three models for each of the fifteen languages, and combines
the models of each language in an `Ensemble`. It writes a table after each
training. If it is interrupted, run the same command again to resume it.
`--attention` selects another mechanism, such as `forward`; the trainings of a
language take several mechanisms in turn. The example needs the extras `text`,
`evaluation`, `plots`, `litert` and `onnx`.
"""

import argparse
import csv
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
from helpers import g2p2020

from keras_attention import Ensemble
from keras_attention import Translator
from keras_attention.recipe import ATTENTIONS
from keras_attention.recipe import CURVES
from keras_attention.recipe import Recipe
from keras_attention.recipe import read_texts
from keras_attention.recipe import train_translator
from keras_attention.training import score_texts

QUICK = {"units": 16, "epochs": 2, "batch_size": 20}
FORMS = {"kor": "nfd"}  # syllables of Hangul become letters
RESULT = "result.json"  # is written last
COLUMNS = {  # of the table
    "wer": "WER",
    "per": "PER",
    "dev_wer": "WER, validation",
    "minutes": "minutes",
    "words_a_second": "words a second",
}


def export(translator: Translator, folder: Path):
    """Write the files for phones and for onnxruntime."""
    translator.export(folder / "translator.tflite", "litert", quantize="int8")
    translator.export(folder / "translator.onnx", "onnx")


def measure(translator: Translator, sides: list[list[str]]) -> dict:
    """Return the errors in the sounds of words, of 100, and the speed."""
    words, wanted = sides
    translator(words, verbose=0)  # traces
    start = time.perf_counter()
    found = translator(words, verbose=0)
    seconds = time.perf_counter() - start
    return {
        "wer": 100 - score_texts("accuracy", found, [wanted]).value,
        "per": score_texts("wer", found, [wanted]).value,
        "words_a_second": len(words) / seconds,
    }


def finish(
    translator: Translator, files: list[Path], folder: Path, minutes: float
) -> dict:
    """Measure, and note the numbers of `COLUMNS` in a folder."""
    dev, test = (read_texts([file], Recipe()) for file in files[1:])
    result = {"minutes": minutes, "dev_wer": measure(translator, dev)["wer"]}
    result.update(measure(translator, test))
    text = json.dumps(result, indent=1)
    (folder / RESULT).write_text(text, encoding="utf-8")
    return result


def pronounce(files: list[Path], folder: Path, recipe: Recipe) -> dict:
    """Train, choose on `dev`, test, and export, unless that is done.

    Args:
        files: Those of training, `dev` and `test`.
        folder: Of the translator and all files.
        recipe: How it is trained.

    Returns:
        The numbers of `COLUMNS`.
    """
    if (folder / RESULT).exists():
        return json.loads((folder / RESULT).read_text(encoding="utf-8"))
    translator = train_translator(files[:1], files[1:2], folder, recipe)
    export(translator, folder)
    with (folder / CURVES).open(encoding="utf-8", newline="") as file:
        seconds = [float(row["seconds"]) for row in csv.DictReader(file)]
    return finish(translator, files, folder, sum(seconds) / 60)


def together(files: list[Path], folder: Path, trained: list[Path]) -> dict:
    """Test several translators as one, unless that is done.

    Args:
        files: Those of training, `dev` and `test`.
        folder: Of their ensemble.
        trained: The folders of the translators.

    Returns:
        As of `pronounce`.
    """
    if (folder / RESULT).exists():
        return json.loads((folder / RESULT).read_text(encoding="utf-8"))
    first, *others = map(Translator.load, trained)
    ensemble = Ensemble([first.model, *(x.model for x in others)])
    both = first.source_tokenizer, first.target_tokenizer
    translator = Translator(ensemble, *both, first.search)
    translator.save(folder)
    return finish(translator, files, folder, 0.0)


def table(results: dict[str, list[dict]]) -> str:
    """Write a row of means and deviations for each language, as Markdown.

    Args:
        results: The numbers of `COLUMNS` of all trainings, by the language;
            those of an ensemble by the language, a space, and its name.
    """
    names = ["language", "trainings", "baseline", *COLUMNS.values()]
    rows = [names, ["---"] * len(names)]
    for label, found in results.items():
        base = f"{g2p2020.BASELINE[label.split()[0]]:.2f}"
        rows.append([label, str(len(found)), base, *_cells(found)])
    for ending in dict.fromkeys(x.partition(" ")[2] for x in results):
        chosen = [x for x in results if x.partition(" ")[2] == ending]
        if len(chosen) > 1:
            base = statistics.mean(
                g2p2020.BASELINE[x.split()[0]] for x in chosen
            )
            means = [
                {k: statistics.mean(x[k] for x in results[c]) for k in COLUMNS}
                for c in chosen
            ]
            cells = (statistics.mean(x[k] for x in means) for k in COLUMNS)
            numbers = [f"{x:.2f}" for x in (base, *cells)]
            rows.append([f"mean {ending}".rstrip(), "", *numbers])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cells(found):
    for name in COLUMNS:
        values = [x[name] for x in found]
        cell = f"{statistics.mean(values):.2f}"
        if len(values) > 1:
            cell += f" ± {statistics.stdev(values):.2f}"
        yield cell


def main(
    quick: bool = False,
    data: str | Path | None = None,
    language: str = "hun",
    seeds: int = 1,
    download: bool = False,
    output: str | Path = "outputs",
    seed: int = 0,
    attention: Sequence[str] = ("additive",),
) -> dict[str, list[dict]]:
    """Train and test on some languages, with some seeds.

    Args:
        quick: Whether to train for seconds on made-up words, to try the code.
        data: Folder of the words.
        language: One of `g2p2020.LANGUAGES`, or `"all"`.
        seeds: How many trainings a language.
        download: Whether to fetch the words that are missing.
        output: Folder of all files, in a folder `pronounce`.
        seed: The first seed.
        attention: Some of `ATTENTIONS`, which the trainings take in turn.

    Returns:
        For each language the results of each seed, and those of all of them
        together.
    """
    chosen = g2p2020.LANGUAGES if language == "all" else [language]
    if quick:
        data = tempfile.mkdtemp()
        g2p2020.make_up(Path(data), chosen)
    elif download:
        g2p2020.download(Path(data), chosen)
    folder, results = Path(output) / "pronounce", {}

    def note(label, result):
        results.setdefault(label, []).append(result)
        print(f"{label}: word error rate {result['wer']:.2f}%")
        (folder / "table.md").write_text(table(results), encoding="utf-8")

    for one in chosen:
        files, trained = g2p2020.find(Path(data), one), []
        name = "_".join([one, *(x for x in attention if x != "additive")])
        for number in range(seed, seed + seeds):
            recipe = Recipe(
                target_tokenizer="symbol",
                normalization=FORMS.get(one, "nfc"),
                attention=attention[(number - seed) % len(attention)],
                seed=number,
                **(QUICK if quick else {}),
            )
            trained.append(folder / f"{name}_{number}")
            note(one, pronounce(files, trained[-1], recipe))
        if seeds > 1:
            joint = folder / f"{name}_{seed}_to_{number}"
            note(f"{one} together", together(files, joint, trained))
    print(table(results))
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder with the word lists")
    parser.add_argument(
        "--language",
        default="hun",
        help="code of a language, or all (default: hun)",
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--attention", nargs="+", choices=ATTENTIONS, default=["additive"]
    )
    parser.add_argument("--download", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
