"""Evaluation metrics of generated texts."""

from collections.abc import Callable
from typing import NamedTuple

from keras_attention.extras import require

SACREBLEU = {"bleu": "BLEU", "chrf": "CHRF", "ter": "TER"}
UNITS = {  # what is counted
    "wer": str.split,
    "per": str.split,
    "cer": str.strip,
}
MODES = {  # which of two numbers is better
    "bleu": "max",
    "chrf": "max",
    "ter": "min",
    "wer": "min",
    "per": "min",
    "cer": "min",
    "ser": "min",
    "accuracy": "max",
}


class TextScore(NamedTuple):
    """One score of texts.

    Attributes:
        value: The score, in percent.
        signature: The signature of sacreBLEU; empty for other metrics.
    """

    value: float
    signature: str = ""


def score_texts(
    name: str,
    texts: list[str],
    references: list[list[str]],
    lowercase: bool = False,
) -> TextScore:
    """Score texts against references, over the whole corpus.

    Formula:

        accuracy = 100 * sum_i [texts[i] is a reference] / count
        ser = 100 - accuracy
        wer, per, cer = 100 * sum_i min_r D(texts[i], r) / sum_i mean_r len(r)

    `D` is the Levenshtein distance: the minimum number of words (`"wer"`),
    symbols (`"per"`, the phone error rate), or characters (`"cer"`, Unicode
    characters including spaces between words) to insert, delete, or substitute;
    `r` ranges over the references of a text. Words and symbols are separated by
    spaces, so `"wer"` and `"per"` are equal. `"ser"` is the sequence error
    rate, which papers on pronunciation call word error rate if each text is a
    word. sacreBLEU computes `"bleu"`, `"chrf"` and `"ter"`. Spaces around a
    text are ignored, but Unicode forms are not normalized: `"é"` is not
    `"e\u0301"`.

    Args:
        name: `"bleu"`, `"chrf"`, `"ter"`, `"wer"`, `"per"`, `"cer"`, `"ser"`
            or `"accuracy"`.
        texts: The texts to score.
        references: Lists of references, each with one reference for every text.
        lowercase: Whether to ignore case. `"ter"` always ignores it. Defaults
            to `False`.

    Returns:
        A `TextScore`.

    Raises:
        ValueError: If all references are empty, or an entry is not a string.
        ImportError: If the package that computes the metric is not installed.

    Reference:
        BLEU: [Papineni et al., 2002](https://aclanthology.org/P02-1040/);
        chrF: [Popović, 2015](https://aclanthology.org/W15-3049/); TER, and
        several references: [Snover et al., 2006](
        https://aclanthology.org/2006.amta-papers.25/); sacreBLEU:
        [Post, 2018](https://aclanthology.org/W18-6319/).
    """
    # Late, since text loads TensorFlow, where it is installed.
    check = require("keras_attention.text.sentences", "text", "score_texts")
    texts = check.as_texts("texts", texts)
    references = [
        check.as_texts(f"references[{i}]", x) for i, x in enumerate(references)
    ]
    if not any(text.strip() for right in references for text in right):
        raise ValueError(
            "`references` must contain a text that is not empty. Received: "
            f"{sum(map(len, references))} empty references. Check that you "
            "read the correct files."
        )
    if name in SACREBLEU:
        package = require("sacrebleu.metrics", "evaluation", f"`{name}`")
        options = {} if name == "ter" else {"lowercase": lowercase}
        metric = getattr(package, SACREBLEU[name])(**options)
        value = metric.corpus_score(texts, references).score
        return TextScore(float(value), str(metric.get_signature()))
    if lowercase:
        texts = [text.lower() for text in texts]
        references = [[text.lower() for text in x] for x in references]
    if name in UNITS:
        return TextScore(100 * _error_rate(UNITS[name], texts, references))
    right = [
        text.strip() in map(str.strip, known)
        for text, *known in zip(texts, *references, strict=True)
    ]
    accuracy = 100 * sum(right) / len(right)
    return TextScore(accuracy if name == "accuracy" else 100 - accuracy)


def _error_rate(split: Callable, texts, references) -> float:
    package = require("rapidfuzz.distance", "evaluation", "An error rate")
    distance = package.Levenshtein.distance
    errors = length = 0
    for text, *known in zip(texts, *references, strict=True):
        found, known = split(text), [split(x) for x in known]
        errors += min(distance(found, x) for x in known)
        length += sum(map(len, known)) / len(known)
    return errors / length
