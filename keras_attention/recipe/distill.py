"""Distillation: what a student learns from a trained ensemble."""

import warnings
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

from keras_attention.recipe.texts import TrainingTexts
from keras_attention.text.files import stream_lines
from keras_attention.translator import Translator

# Without other sources: a teacher is too sure of those that it was trained on.
TEMPERATURE = 2.0


def read_unlabeled(
    files: Sequence[str | Path], header: bool = False
) -> list[str]:
    """Read sources without targets.

    Args:
        files: Files with a source per line; features follow after a tab.
        header: Whether the first line of each file is a header. Defaults to
            `False`.

    Returns:
        The sources, each once, without blank lines.
    """
    found = {}
    for file in files:
        for number, line in enumerate(stream_lines(file)):
            if line.strip() and not (header and number == 0):
                found[line.strip()] = number
    return [*found]


def taught_texts(
    data: TrainingTexts,
    teacher: Translator,
    unlabeled: list[str],
    report: Callable[[str], None],
) -> TrainingTexts:
    """Add what a teacher writes to the pairs of a training.

    These are its best texts for the training sources, where they differ from
    the targets, and for sources without a target. Sources with tokens that the
    teacher does not know are left out, with a warning.

    Args:
        data: The pairs.
        teacher: A trained translator.
        unlabeled: Sources without targets.
        report: Function that is called with a line of text.

    Returns:
        The pairs of a student, and the teacher's model.
    """
    unknown = teacher.source_tokenizer.unknown(unlabeled) if unlabeled else []
    known = [x for x, lost in zip(unlabeled, unknown, strict=True) if not lost]
    if len(known) < len(unlabeled):
        first = next(filter(None, unknown))[0]
        warnings.warn(
            f"{len(unlabeled) - len(known)} of {len(unlabeled)} unlabeled "
            f"sources have tokens that training did not have, such as "
            f"{first!r}. They are left out.",
            stacklevel=3,
        )
    sources, targets = data.train
    more = [*dict.fromkeys([*sources, *known])]
    pairs = dict.fromkeys(zip(sources, targets, strict=True))
    texts = zip(more, teacher(more, verbose=0), strict=True)
    new = [pair for pair in texts if pair[1] and pair not in pairs]
    report(
        f"Student: {len(sources)} pairs, and {len(new)} that the ensemble wrote"
    )
    train = [*zip(sources, targets, strict=True), *new]
    return data._replace(
        train=tuple(map(list, zip(*train, strict=True))),
        teacher=teacher.model,
        temperature=1.0 if known else TEMPERATURE,
    )
