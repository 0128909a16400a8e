"""What `translate_multi30k.py` measures, draws and writes in the end."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import Seq2Seq
from keras_attention import Translator
from keras_attention import plot_attention_batch
from keras_attention.extras import require
from keras_attention.plots import draw_curves
from keras_attention.text import AbstractTokenizer
from keras_attention.text import read_lines

NAME = "translate_multi30k.py"
PENALTIES = (0.6, 0.8, 1.0, 1.2)  # of length; the best one on `val` is taken
MAX_LENGTH = 80
SHOWN = 10  # sentences whose attention is drawn
WIDTH = 5  # words, of a group of lengths
BATCH = 50  # sentences that an exported file translates at a time
EXPORTS = {
    "tf_saved_model": ("1", {}),
    "litert": ("translator.tflite", {"quantize": "int8"}),
    "onnx": ("translator.onnx", {}),
}
MOSES = (
    "lowercased, MosesPunctNormalizer, MosesTokenizer (sacremoses {}, hyphens "
    "not split, nothing escaped); sacreBLEU {}, tokenize='none', smooth:exp"
)
ROW = "| {:<16} | {:<6} | {:>5} | {:>5} | {:>5} |"


def moses(sentences: list[str], language: str) -> list[str]:
    """Write sentences as tokens with spaces between them.

    They are put into lower case first, then their punctuation is normalized,
    then they are tokenized, each by the rules of the language.
    """
    package = require("sacremoses", "evaluation", NAME)
    normalize = package.MosesPunctNormalizer(language).normalize
    tokenize = package.MosesTokenizer(language).tokenize
    return [
        tokenize(normalize(x.lower()), return_str=True, escape=False)
        for x in sentences
    ]


def measure(found: list[str], wanted: list[str], language: str) -> dict:
    """Compute the scores of translations.

    Returns:
        Scores of sacreBLEU: `"13a"`, cased; `"moses"`, of the tokens of
        `moses`; and `"chrF"`.
    """
    metrics = require("sacrebleu.metrics", "evaluation", NAME)
    tokens = [moses(side, language) for side in (found, wanted)]
    plain = metrics.BLEU(tokenize="none", force=True)
    return {
        "13a": metrics.BLEU().corpus_score(found, [wanted]),
        "moses": plain.corpus_score(tokens[0], [tokens[1]]),
        "chrF": metrics.CHRF().corpus_score(found, [wanted]),
    }


def signatures() -> str:
    """Describe the three scores."""
    package = require("sacrebleu", "evaluation", NAME)
    metrics = [package.metrics.BLEU(), package.metrics.CHRF()]
    for metric in metrics:  # a signature counts references
        metric.corpus_score(["a"], [["a"]])
    bleu, chrf = (str(metric.get_signature()) for metric in metrics)
    version = require("sacremoses", "evaluation", NAME).__version__
    tokens = MOSES.format(version, package.__version__)
    return f"13a: {bleu}\nMoses: {tokens}\nchrF: {chrf}"


def choose_beam(
    translator: Translator, sides: list[list[str]], beam: int, language: str
) -> Translator:
    """Return the translator whose length penalty is the best one.

    Args:
        translator: The translator, with any search.
        sides: Sources and references of the validation set.
        beam: Number of hypotheses.
        language: Of the references.
    """

    def quality(translator):
        found = translator(sides[0], verbose=0)
        return measure(found, sides[1], language)["moses"].score

    searches = [
        BeamSearch(beam, length_penalty=x, max_length=MAX_LENGTH)
        for x in PENALTIES
    ]
    return max(map(translator.with_search, searches), key=quality)


def by_length(
    sources: list[str], found: list[str], wanted: list[str]
) -> list[str]:
    """Make a table of the cased 13a BLEU of short and of long sentences.

    Args:
        sources: The sentences, which are grouped by their number of words.
        found: Their translations.
        wanted: Their references.
    """
    metrics = require("sacrebleu.metrics", "evaluation", NAME)
    groups, lines = {}, []
    for i, source in enumerate(sources):
        groups.setdefault((len(source.split()) - 1) // WIDTH, []).append(i)
    for group, rows in sorted(groups.items()):
        texts = [[side[i] for i in rows] for side in (found, wanted)]
        score = metrics.BLEU().corpus_score(texts[0], [texts[1]]).score
        words = f"{group * WIDTH + 1} to {(group + 1) * WIDTH}"
        lines.append(f"| {words} | {len(rows)} | {score:.1f} |")
    return ["| source words | sentences | 13a |", "| --- | --- | --- |", *lines]


def report(
    model: Seq2Seq,
    tokenizer: AbstractTokenizer,
    files: dict[str, list[Path]],
    language: str,
    beam: int,
    folder: Path,
    replace_unknown: bool,
) -> tuple[Translator, str]:
    """Print and write all scores, and write the translations.

    Args:
        model: A trained model.
        tokenizer: That of both sides.
        files: Source and target file of each part.
        language: The target's.
        beam: Number of hypotheses of the beam search.
        folder: Where translations and `report.md` are written.
        replace_unknown: As of `Translator`.

    Returns:
        The translator, with a beam search, and its cased BLEU of the test set
        with its signature.
    """
    greedy = Translator(
        model,
        tokenizer,
        tokenizer,
        GreedySearch(max_length=MAX_LENGTH),
        replace_unknown=replace_unknown,
    )
    parts = {
        part: [read_lines(file) for file in files[part]]
        for part in ("val", "test_2016_flickr")
    }
    best = choose_beam(greedy, parts["val"], beam, language)
    penalty = best.search.length_penalty
    lines = [
        f"Length penalty {penalty}, the best one on val\n",
        ROW.format("part", "search", "13a", "Moses", "chrF"),
        "| --- | --- | --- | --- | --- |",
    ]
    for part, (sources, wanted) in parts.items():
        for name, translator in (("greedy", greedy), (f"beam {beam}", best)):
            found = translator(sources, verbose=0)
            scores = measure(found, wanted, language)
            row = [f"{x.score:.1f}" for x in scores.values()]
            lines.append(ROW.format(part, name, *row))
            file = folder / f"{part}.{name.replace(' ', '_')}.{language}"
            text = "".join(" ".join(x.split()) + "\n" for x in found)
            file.write_text(text, encoding="utf-8")
    lines += ["", signatures(), "", *by_length(sources, found, wanted)]
    text = "\n".join(lines) + "\n"
    (folder / "report.md").write_text(text, encoding="utf-8")
    print(text)
    signature = signatures().splitlines()[0].removeprefix("13a: ")
    return best, f"{scores['13a']}\n{signature}"


def draw_attention(translator: Translator, sentences: list[str], file: Path):
    """Draw the attention of a few sentences in a grid."""
    found = translator(sentences[:SHOWN], return_attention_scores=True)
    axes = plot_attention_batch(
        found.attention, found.source_tokens, found.target_tokens
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    axes[0].figure.savefig(file, bbox_inches="tight")
    print(f"Picture: {file}")


def plot_curves(curves: Path):
    """Draw the losses and the BLEU of `curves.csv` beside it."""
    with curves.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    history = {name: [float(row[name]) for row in rows] for name in rows[0]}
    figure = draw_curves(history, (("loss", "val_loss"), ("val_bleu",)))
    figure.savefig(curves.with_suffix(".png"))
    print(f"Picture: {curves.with_suffix('.png')}")


def run_file(path: Path, form: str, translator: Translator) -> Callable:
    """Load an exported file as a function from sentences to translations."""
    tokenize = translator.source_tokenizer.tokenize
    tokenizer = translator.target_tokenizer
    if form == "tf_saved_model":
        tensorflow = require("tensorflow", "text", NAME)
        loaded = tensorflow.saved_model.load(path)
        serve = loaded.signatures["serving_default"]

        def run(batch):
            return serve(tensorflow.constant(batch))["translations"].numpy()

    elif form == "litert":
        runtime = require("ai_edge_litert.interpreter", "litert", NAME)
        loaded = runtime.Interpreter(str(path), num_threads=2)
        serve = loaded.get_signature_runner("translate_ids")

        def run(batch):
            return serve(source_ids=tokenize(batch))["tokens"]

    else:
        loaded = require("onnxruntime", "onnx", NAME).InferenceSession(path)

        def run(batch):
            ids = {"source_ids": tokenize(batch)}
            return loaded.run(["tokens"], ids)[0]

    def translate(sentences):
        found = []
        for start in range(0, len(sentences), BATCH):
            best = run(sentences[start : start + BATCH])[:, 0]
            if np.issubdtype(best.dtype, np.integer):
                best = tokenizer.detokenize(best)
            found += [x if isinstance(x, str) else x.decode() for x in best]
        return found

    return translate


def export(
    translator: Translator,
    folder: Path,
    sides: list[list[str]],
    language: str,
):
    """Export in every format, and print the scores of each file.

    Args:
        translator: A trained translator.
        folder: Where the files are written.
        sides: Sources and references.
        language: Of the references.
    """
    print()
    for form, (name, options) in EXPORTS.items():
        path = folder / name
        translator.export(path, form, **options)
        run = run_file(path, form, translator)
        scores = measure(run(sides[0]), sides[1], language)
        row = ", ".join(f"{k} {x.score:.1f}" for k, x in scores.items())
        print(f"{form}: {path}, {row}")
