"""How much does each component of a translator contribute? A table.

The example trains a small version of the recipe of `translate_multi30k.py`. It
then trains the same model with one change: another attention mechanism, another
order, or a component left out. Each row of the table is one training. All
trainings have the same length and random seed. BLEU is measured on the
validation set; the test set is not used:

    python examples/what_matters.py --data multi30k

`--data` is a folder with the files that `translate_multi30k.py --download`
writes. Finished rows are stored in `--folder`. If a training is interrupted,
run the same command again to resume it. The example writes the table,
`what_matters.md`, after every row. It needs the extras `text` and `evaluation`.

A short training shows little about overfitting: dropout makes learning slower
at first. Before you leave out dropout, compare longer trainings, with a larger
`--budget`.
"""

import argparse
import json
import tempfile
import time
from dataclasses import asdict
from dataclasses import replace
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
from helpers.multi30k import PARTS
from helpers.multi30k import find
from helpers.multi30k import made_up_corpus
from helpers.multi30k_recipe import SCORES
from helpers.multi30k_recipe import Recipe
from helpers.multi30k_recipe import claim
from helpers.multi30k_report import measure
from translate_multi30k import QUICK
from translate_multi30k import fit
from translate_multi30k import make_tokenizer

from keras_attention import GreedySearch
from keras_attention import Translator
from keras_attention.text import read_lines

PARTS_OF_RECIPE = (
    "dropout",
    "recurrent_dropout",
    "label_smoothing",
    "average",
)
OTHERS = {
    name: {"attention": name} for name in SCORES if name != Recipe.attention
}
for name in ("dot", "cosine"):  # queries and keys have one size
    OTHERS[name]["append_inputs"] = False
ROWS = {
    "the recipe": {},
    **{f"attention: {name}": changes for name, changes in OTHERS.items()},
    "attention in 4 heads": {"heads": 4},
    "attends before the step": {"order": "bahdanau"},
    "without input feeding": {"input_feeding": False},
    "without embeddings in the memory": {"append_inputs": False},
    "without lexical translation": {"lexical": False},
    **{f"without {name}": {name: 0.0} for name in PARTS_OF_RECIPE},
    "with word_dropout": {"word_dropout": 0.1},
    "with sample_subwords": {"sample_subwords": 0.1},
}
LINE = "| {:<30} | {:>6} | {:>6} | {:>7} |"


def run(recipe: Recipe, files: dict, tokenizer, seed: int, folder: Path):
    """Train, and return scores of the validation set and minutes."""
    start, clock = time.time(), time.process_time()
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    model = fit(recipe, files, tokenizer, seed, folder)
    minutes = (time.time() - start) / 60
    search = GreedySearch(max_length=60)
    sources, wanted = (read_lines(file) for file in files["val"])
    translator = Translator(model, tokenizer, tokenizer, search)
    language = files["val"][1].name.split(".")[1]
    scores = measure(translator(sources, verbose=0), wanted, language)
    return {
        "Moses": scores["moses"].score,
        "13a": scores["13a"].score,
        "minutes": minutes,
        "CPU minutes": (time.process_time() - clock) / 60,
    }


def as_table(found: dict[str, dict]) -> str:
    """Write what is known of the rows as Markdown."""
    lines = [
        LINE.format("what", "Moses", "13a", "minutes"),
        "| --- | ---: | ---: | ---: |",
    ]
    for name, row in found.items():
        scores = [f"{row[x]:.1f}" for x in ("Moses", "13a", "minutes")]
        lines.append(LINE.format(name, *scores))
    return "\n".join(lines) + "\n"


def main(
    quick: bool = False,
    data: str | Path | None = None,
    source: str = "en",
    target: str = "de",
    budget: int = 6,
    units: int = 128,
    rows: list[str] | None = None,
    folder: str | Path | None = None,
    seed: int = 1,
) -> str:
    """Train what is missing, and print the table.

    Args:
        quick: Whether to run two rows on made-up sentences, to try the code.
        data: Folder of the corpus.
        source: Language to translate from.
        target: Language to translate to.
        budget: Epochs of each row. The learning rate falls to 0 in as many.
        units: Size of embeddings and of each direction of the encoder.
        rows: Names of `ROWS`. Defaults to all.
        folder: Where rows and table are. Defaults to one in `outputs`.
        seed: Seed of every row.

    Returns:
        The table.
    """
    base = Recipe(units=units, epochs=budget, patience=budget)
    if quick:
        data, base = made_up_corpus(source, target), replace(base, **QUICK)
        folder, rows = folder or tempfile.mkdtemp(), rows or [*ROWS][:2]
    folder = Path(folder or f"outputs/what_matters_{source}_{target}")
    files = {
        part: [find(Path(data), part, side) for side in (source, target)]
        for part in PARTS[:2]
    }
    tokenizer = make_tokenizer(
        "sentencepiece", files["train"], base.vocabulary_size
    )
    found = {}
    for name in rows or ROWS:
        recipe = replace(base, **ROWS[name])
        own = folder / name.replace(" ", "_").replace(":", "")
        pair = [source, target]
        claim(own, {"recipe": asdict(recipe), "languages": pair, "seed": seed})
        file = own / "row.json"
        if not file.exists():
            row = run(recipe, files, tokenizer, seed, own)
            file.write_text(json.dumps(row, indent=1), encoding="utf-8")
        found[name] = json.loads(file.read_text(encoding="utf-8"))
        (folder / "what_matters.md").write_text(as_table(found))
    print(as_table(found))
    return as_table(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", help="folder with the files of the corpus")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument(
        "--budget", type=int, default=6, help="epochs per row (default: 6)"
    )
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--rows", nargs="*", choices=ROWS, metavar="ROW")
    parser.add_argument("--folder", help="folder for the rows and the table")
    parser.add_argument("--seed", type=int, default=1)
    given = vars(parser.parse_args())
    if not (given["data"] or given["quick"]):
        parser.error(
            "--data is required: the folder with the files of the corpus"
        )
    main(**given)
