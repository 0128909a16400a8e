"""From pairs of texts to a trained translator, by one call."""

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import keras

from keras_attention.files import replaced_folder
from keras_attention.recipe.adapt import load_start
from keras_attention.recipe.adapt import report_growth
from keras_attention.recipe.members import join_translators
from keras_attention.recipe.options import NOTE
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.pairs import warn_of_overlap
from keras_attention.recipe.report import write_report
from keras_attention.recipe.texts import TrainingTexts
from keras_attention.recipe.texts import fit_tokenizers
from keras_attention.recipe.texts import read_files
from keras_attention.recipe.texts import sides
from keras_attention.recipe.training import load_trained
from keras_attention.recipe.training import train_one
from keras_attention.text.files import stream_lines
from keras_attention.training.text_scores import score_texts
from keras_attention.translator import MAIN_FILE
from keras_attention.translator import Translator

ENSEMBLE, STUDENT = "ensemble", "student"
# Without other sources: a teacher is too sure of those that it was trained on.
TEMPERATURE = 2.0


def train_translator(
    train: Sequence[str | Path],
    validation: Sequence[str | Path],
    folder: str | Path,
    recipe: Recipe | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    report: Callable[[str], None] = lambda _: None,
    init: str | Path | None = None,
    unlabeled: Sequence[str | Path] = (),
) -> Translator:
    """Train a translator on pairs of texts, and save it.

    A call that was killed goes on when it is made again; its state is in a
    folder beside `folder`, with `.training` behind the name, or `.members` if
    there are several. One that has ended loads what it saved. The random seed
    of Keras is set.

    The best epoch is the one with the best metric on `validation`; if several
    have it, the one with the least `val_loss`. References are compared as the
    target's tokenizer writes them, if they differ in Unicode normalization,
    letter case, or white space alone.

    Each epoch writes `loss`, `val_loss`, the metric as `val_<name>`, and
    `seconds`. On torch, set the environment variable `OMP_WAIT_POLICY=PASSIVE`
    before Python starts, as the command does: otherwise threads of torch that
    wait for each other take many times as long where other programs compute.

    Args:
        train: One table, whose columns are separated by tabs, or a file of
            sources and one of their targets.
        validation: Likewise; the best epoch is that which is best here.
        folder: What `Translator.load` reads then. It also has `recipe.toml`,
            `curves.csv`, with the extra `evaluation` `report.md`, and with the
            extra `plots` pictures of the curves and of the attention of the
            ten worst texts of `validation`. With several
            `members` it has a folder of this kind for each of them, named
            `seed_<number>`.
        recipe: The recipe. Defaults to `None`, `Recipe()`.
        callbacks: More callbacks, which hear last of an epoch.
        report: Function that is called with a line of text on what was read,
            what is trained, and what was reached, such as `print`. Defaults to
            one that does nothing.
        init: A saved translator to fine-tune. Its tokenizers get new entries
            as of `Translator.extended`, and options that it determines, such
            as `units`, must be its own: `Recipe(**fixed_options(init))`.
            Defaults to `None`, random weights.
        unlabeled: Files with a source per line, for a recipe with `distill`:
            the student also learns what the ensemble writes for them.
            Defaults to `()`.

    Returns:
        The translator, with a beam search.

    Raises:
        ValueError: If a file is broken, or if the folder or its state is that
            of other data or another recipe; if `unlabeled` is given without
            `distill`; or if `init` has other options, or tokenizers that cannot
            be extended.
    """
    recipe, folder = recipe or Recipe(), Path(folder)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read = [read_files(files, recipe) for files in (train, validation)]
        warn_of_overlap(*read)
        more = _read_more(unlabeled, recipe)
    start, note = None, _comment("texts", [*map(sides, read)])
    if init is not None:
        start, comment = load_start(init, recipe)
        note += comment
    all_texts = note + (_comment("unlabeled sources", more) if more else "")
    whole = f"{all_texts}{recipe.to_toml()}"
    if (trained := load_trained(folder, whole, report)) is not None:
        return trained
    for warning in said:  # not again, where all has been trained
        warnings.warn(warning.message, stacklevel=2)
    data = fit_tokenizers(read, recipe, note, report, start)
    if start is not None:
        report_growth(start, data.tokenizers, report)
    if recipe.members == 1:
        return train_one(data, folder, recipe, callbacks, report)
    work = folder.with_name(f"{folder.name}.members")
    found = _train_members(data, work, recipe, callbacks, report)
    if recipe.distill:
        taught = taught_texts(data, found[ENSEMBLE], more, report)
        taught = taught._replace(note=all_texts)
        own = replace(recipe, members=1, distill=False)
        given = taught, work / STUDENT, own, callbacks, report
        found[STUDENT] = train_one(*given)
    for name, translator in found.items():
        score = _score(translator, data, recipe.metric)
        report(f"Validation with beam search, {name}: {score}")
    *_, translator = found.values()
    with replaced_folder(folder, MAIN_FILE) as new:
        _save_several(new, work, found, data, recipe)
        (new / NOTE).write_text(whole, encoding="utf-8")
    shutil.rmtree(work)
    return translator


def _save_several(folder, work, found, data, recipe):
    """Save the result, with a folder for each member."""
    if not recipe.distill:
        found[ENSEMBLE].save(folder)
        write_report(folder, found[ENSEMBLE], data, recipe)
    for name in found.keys() - {ENSEMBLE}:
        place = folder if name == STUDENT else folder / name
        shutil.copytree(work / name, place, dirs_exist_ok=True)


def _comment(name, texts) -> str:
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    return f"# SHA-256 of the {name}: {digest}\n"


def _read_more(unlabeled, recipe) -> list[str]:
    if unlabeled and not recipe.distill:
        raise ValueError(
            "`unlabeled` is for a recipe that distills. Received: "
            f"unlabeled={[*map(str, unlabeled)]}, distill=False. Set `distill`."
        )
    return read_unlabeled(unlabeled, recipe.header)


def _train_members(data, work, recipe, callbacks, report) -> dict:
    """Train the members, each in a folder of its own, and join them."""
    found = {}
    for number in range(recipe.members):
        seed = recipe.seed + number
        own = replace(recipe, seed=seed, members=1, distill=False)
        report(f"Member {number + 1} of {recipe.members}, seed {seed}")
        folder = work / f"seed_{seed}"
        found[folder.name] = train_one(data, folder, own, callbacks, report)
    found[ENSEMBLE] = join_translators([*found.values()], [*found])
    return found


def _score(translator: Translator, data: TrainingTexts, metric: str) -> str:
    """Measure a translator on the validation set."""
    texts = translator(data.validation[0], verbose=0)
    value = score_texts(metric, texts, [data.references]).value
    return f"{metric} {value:.4g}"


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
