"""How is English pronounced? A small model learns it from 111,000 words.

    python examples/pronounce_english.py --data cmudict --download

This command trains an attentive LSTM on the CMU Pronouncing Dictionary, with
stress marks, in 70 minutes on one core. If it is interrupted, run it again to
resume it. `helpers/english.py` defines which words are tested.

The example writes two files with weights of 8 bits, and tests them:
`pronounce.onnx` takes text and returns text and attention; `pronounce_word.py`
and `serve/onnx_server.py` run it. `litert_translate.py` runs
`pronounce.tflite`. The folder `saved_models/pronounce_en` contains both files.
The example needs the extras `text`, `evaluation`, `plots`, `litert` and `onnx`.

A hypothesis is right if it equals any pronunciation of the word. The phone
error rate counts the edits to the nearest pronunciation.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import helpers.quiet  # noqa: F401
import litert_translate
import pronounce_word
from helpers import english

# isort: split
from keras_attention import BeamSearch
from keras_attention.recipe import Recipe
from keras_attention.recipe import train_translator
from keras_attention.training import score_texts

ENGLISH = {
    "lowercase": True,  # words may be typed with capitals
    "target_tokenizer": "symbol",
    "units": 240,
    "dropout": 0.3,
    "epochs": 14,
    "batch_size": 128,
}
QUICK = {**ENGLISH, "units": 8, "epochs": 1, "batch_size": 20}
BEAMS, BATCH = 3, 128  # of what is exported; of its tests
UNSTRESSED = str.maketrans("", "", "012")
FILES = {  # how each is loaded
    "pronounce.onnx": pronounce_word.load,
    "pronounce.tflite": litert_translate.load,
}


def error_rates(found: list[str], words: english.Words) -> dict:
    """Count errors, of 100, with stress marks and without.

    Args:
        found: What was said for each word.
        words: The words.

    Returns:
        Rates of words and of sounds, by name.
    """
    rates, most = {}, max(map(len, words.values()))
    for ending, table in (("", {}), (" without stress", UNSTRESSED)):
        said = [x.translate(table) for x in found]
        references = [
            [x[i % len(x)].translate(table) for x in words.values()]
            for i in range(most)
        ]
        right = score_texts("accuracy", said, references).value
        rates[f"words{ending}"] = 100 - right
        rates[f"sounds{ending}"] = score_texts("wer", said, references).value
    return rates


def in_batches(pronounce: Callable, words: list[str]) -> list[str]:
    """Pronounce many words, those of like length together."""
    ordered, found = sorted(words, key=len), {}
    for first in range(0, len(words), BATCH):
        batch = ordered[first : first + BATCH]
        found.update(zip(batch, pronounce(batch), strict=True))
    return [found[word] for word in words]


def main(
    quick: bool = False,
    data: str | Path | None = None,
    download: bool = False,
    output: str | Path = "outputs",
    seed: int = 0,
) -> dict[str, dict]:
    """Train, export, and test the exported files.

    Args:
        quick: Whether to train for seconds on made-up words, to try the code.
        data: Folder of the dictionary.
        download: Whether to fetch the dictionary if it is missing.
        output: Folder of all files, in a folder `pronounce_en`.
        seed: Of the training.

    Returns:
        The error rates of each file, and its words a second.
    """
    if quick:
        data = tempfile.mkdtemp()
        english.make_up(Path(data))
    parts = english.split(english.read(english.find(Path(data), download)))
    folder = Path(output) / "pronounce_en"
    folder.parent.mkdir(parents=True, exist_ok=True)
    train, dev = (
        [english.write(parts[name], folder.with_suffix(f".{name}.tsv"), most)]
        for name, most in (("train", None), ("dev", 1))
    )
    recipe = Recipe(**(QUICK if quick else ENGLISH), seed=seed)
    translator = train_translator(train, dev, folder, recipe)
    longest = translator.search.max_length
    translator = translator.with_search(BeamSearch(BEAMS, max_length=longest))
    for name, form in (("onnx", "onnx_align"), ("tflite", "litert")):
        file = folder / f"pronounce.{name}"
        translator.export(file, form, quantize="int8")
    words, results = [*parts["test"]], {}
    for name, load in FILES.items():
        pronounce, start = load(folder / name), time.perf_counter()
        found = in_batches(pronounce, words)
        seconds = time.perf_counter() - start
        results[name] = error_rates(found, parts["test"])
        results[name]["words a second"] = len(words) / seconds
    text = json.dumps(results, indent=1)
    (folder / "errors.json").write_text(text, encoding="utf-8")
    print(text)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder with the dictionary")
    parser.add_argument("--download", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
