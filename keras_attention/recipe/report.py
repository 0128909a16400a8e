"""The report on a trained translator: error rates and worst outputs."""

import re
import warnings
from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from keras_attention.extras import require
from keras_attention.plots import draw_curves
from keras_attention.plots import plot_attention_batch
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.texts import TrainingTexts
from keras_attention.training.text_scores import score_texts
from keras_attention.translator import Translator

REPORT = "report.md"
RATES = "accuracy", "ser", "per", "wer", "cer"
WHOLE = {"character", "sentencepiece"}  # targets that are cut into characters
ROWS, CONFUSIONS, WORST = 20, 30, 20  # of the tables, at most
SHOWN = 10  # texts whose attention is drawn
NEEDED_BY = "A report"


def write_report(
    folder: Path,
    translator: Translator,
    data: TrainingTexts,
    recipe: Recipe,
    history: Mapping[str, Sequence[float]] | None = None,
    best: int = 0,
):
    """Write a report with figures, and warn about missing packages.

    Args:
        folder: The folder to write to.
        translator: The translator.
        data: The texts. The report evaluates the validation set.
        recipe: The recipe of the training.
        history: The logs of all epochs. Defaults to `None`, no epochs.
        best: The index of the best epoch. Defaults to `0`.
    """
    sources, references = data.validation[0], data.references
    texts = translator(sources, verbose=0)
    split = list if recipe.target_tokenizer in WHOLE else str.split
    given = sources, references, texts, split
    try:
        confusions, wrong = count_errors(*given)
    except ImportError as error:
        warnings.warn(f"No report: {error}", stacklevel=2)
        confusions, wrong = None, []
    shown = [source for _, source, *_ in wrong] + sources
    try:
        _draw(translator, shown[:SHOWN], history, recipe.metric, folder)
    except ImportError as error:
        warnings.warn(f"No figures: {error}", stacklevel=2)
    if confusions is None:
        return
    found = [(*x, count) for x, count in confusions.most_common(CONFUSIONS)]
    rates = [(x, score_texts(x, texts, [references]).value) for x in RATES]
    parts = [
        "# Report",
        f"Validation set: {len(sources)} sources, translated with beam width "
        f"{recipe.beam_size}. {len(wrong)} of the hypotheses are wrong.",
        _table(["metric", "value"], rates),
        *_about_epochs(history, recipe.metric, best),
        "## Most frequent confusions",
        "Edits from the reference to the hypothesis.",
        _table(["reference", "hypothesis", "count"], found),
        "## Worst hypotheses",
        _table(["errors", "source", "reference", "hypothesis"], wrong[:WORST]),
    ]
    for name in ("curves.png", "attention.png"):
        if (folder / name).exists():
            parts.append(f"![{name}]({name})")
    (folder / REPORT).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def count_errors(
    sources: Sequence[str],
    references: Sequence[str],
    texts: Sequence[str],
    split: Callable[[str], Sequence[str]],
) -> tuple[Counter, list[tuple]]:
    """Align hypotheses with their references by minimum edit distance.

    Args:
        sources: The sources.
        references: The references.
        texts: The hypotheses.
        split: Function that splits a text into units of comparison.

    Returns:
        A counter of pairs of a reference unit and a hypothesis unit that
        differ, with `""` for insertions and deletions; and error count,
        source, reference and hypothesis of all wrong hypotheses, the worst
        first.
    """
    edits = require("rapidfuzz.distance", "evaluation", NEEDED_BY).Levenshtein
    confusions, wrong = Counter(), []
    for source, *pair in zip(sources, references, texts, strict=True):
        right, text = (split(x.strip()) for x in pair)
        found = edits.editops(right, text)
        for kind, i, j in found:
            confusions[
                "" if kind == "insert" else right[i],
                "" if kind == "delete" else text[j],
            ] += 1
        if found:
            wrong.append((len(found), source, *pair))
    return confusions, sorted(wrong, key=lambda row: -row[0])


def _about_epochs(history, metric, best):
    """Return the section on epochs, with a table of some of them."""
    if history is None:
        return []
    names = "loss", "val_loss", f"val_{metric}", "seconds"
    rows = [*zip(*(history[name] for name in names), strict=True)]
    step = -(-len(rows) // ROWS)
    shown = sorted({best, *range(len(rows) - 1, -1, -step)})
    table = _table(["epoch", *names], [(n + 1, *rows[n]) for n in shown])
    return ["## Epochs", f"Epoch {best + 1} is the best epoch.", table]


def _table(names, rows) -> str:
    """Return a Markdown table."""
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in lines)


def _cell(value) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    shown = re.sub(r"([\\`*_<>\[\]|])", r"\\\1", str(value))
    return "(space)" if shown.isspace() else shown or "(nothing)"


def _draw(translator, texts, history, metric, folder):
    """Draw curves, and the attention weights of some hypotheses."""
    pyplot = require("matplotlib.pyplot", "plots", NEEDED_BY)
    if history is not None:
        groups = ["loss", "val_loss"], [f"val_{metric}"]
        draw_curves(history, groups).savefig(folder / "curves.png")
    found = translator(texts, return_attention_scores=True, verbose=0)
    axes = plot_attention_batch(
        found.attention, found.source_tokens, found.target_tokens
    )
    figure = axes[0].figure
    figure.savefig(folder / "attention.png", bbox_inches="tight")
    pyplot.close(figure)  # which would keep it
