"""Train a translator from pairs of texts with one call, or fine-tune one."""

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
from keras_attention.files import sha256_of
from keras_attention.models import Seq2Seq
from keras_attention.recipe.members import join_translators
from keras_attention.recipe.options import NOTE
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.options import fixed_options
from keras_attention.recipe.pairs import warn_of_overlap
from keras_attention.recipe.report import write_report
from keras_attention.recipe.texts import TrainingTexts
from keras_attention.recipe.texts import fit_tokenizers
from keras_attention.recipe.texts import read_files
from keras_attention.recipe.texts import sides
from keras_attention.recipe.training import load_trained
from keras_attention.recipe.training import train_one
from keras_attention.text import TaggedTokenizer
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
    teacher: str | Path | None = None,
) -> Translator:
    """Train a translator on pairs of texts, and save it.

    To resume an interrupted training, make the same call again. The state of
    the training is in a folder next to `folder`: its name is that of `folder`
    with `.training` appended, or with `.members` for several members. If the
    training was finished, the saved translator is loaded. The call sets the
    random seed of Keras.

    The best epoch is the epoch with the best metric on `validation`. If
    several epochs have the same metric, the lowest `val_loss` decides. Some
    target tokenizers change Unicode normalization, letter case or whitespace;
    references are changed in the same way before the comparison.

    The logs of each epoch contain `loss`, `val_loss`, the metric as
    `val_<name>`, and `seconds`. With torch, set the environment variable
    `OMP_WAIT_POLICY=PASSIVE` before Python starts, as the command
    `keras-attention train` does. Otherwise, if other programs run on the
    machine, waiting threads of torch make training many times slower.

    Args:
        train: The training set: one tab-separated file, or a source file and
            a target file.
        validation: The validation set, in the form of `train`. It decides which
            epoch is the best.
        folder: Path of the saved translator. The folder also contains
            `recipe.toml` and `curves.csv`; with the extra `evaluation`,
            `report.md`; and with the extra `plots`, figures of the learning
            curves and of the attention weights of the ten worst outputs on
            `validation`. With several `members`, it also contains such a
            folder for each member, named `seed_<number>`.
        recipe: The recipe. Defaults to `None`, `Recipe()`.
        callbacks: Additional callbacks, which are called last.
        report: Function that is called with a line of text about data,
            training and results, such as `print`. Defaults to a function that
            does nothing.
        init: Path to a saved translator to fine-tune. Its tokenizers are
            extended as in `Translator.extended`. Options that depend on this
            translator, such as `units`, must have its values:
            `Recipe(**fixed_options(init))`. Defaults to `None`, which starts
            from random weights.
        unlabeled: Files with one source per line, for a recipe with `distill`
            or for a `teacher`. The ensemble or the teacher translates these
            sources, and the student also learns from the translations.
            Defaults to `()`.
        teacher: Path to a saved translator to distill, such as an ensemble or
            a larger model. The new translator learns from it as with `distill`.
            Both must have the same tokenizers: train the teacher on the same
            files with the same options of the tokenizers. Defaults to `None`.

    Returns:
        The translator, with a beam search.

    Raises:
        ValueError: If a file is invalid; if `folder` or its state belongs to
            other data or another recipe; if you pass `unlabeled` without
            `distill` or `teacher`; if `init` has other options, or tokenizers
            that cannot be extended; or if `teacher` has other tokenizers.
    """
    recipe, folder = recipe or Recipe(), Path(folder)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read = [read_files(files, recipe) for files in (train, validation)]
        warn_of_overlap(*read)
        more = _read_more(unlabeled, recipe, teacher)
    start, note = None, _comment("texts", [*map(sides, read)])
    if init is not None:
        start = load_start(init, recipe)
        note += _comment_of(init, "it began with")
    if teacher is not None:
        known = Translator.load(teacher)
        note += _comment_of(teacher, "it learned from")
    whole = f"{note}{_comment_on_more(more)}{recipe.to_toml()}"
    if (trained := load_trained(folder, whole, report)) is not None:
        return trained
    for warning in said:  # not again, where all has been trained
        warnings.warn(warning.message, stacklevel=2)
    data = fit_tokenizers(read, recipe, note, report, start)
    if start is not None:
        report_growth(start, data.tokenizers, report)
    if teacher is not None:
        _check_teacher(teacher, known, data.tokenizers)
        data = taught_texts(data, known, more, report)
    if recipe.members == 1:
        return train_one(data, folder, recipe, callbacks, report)
    work = folder.with_name(f"{folder.name}.members")
    found = _train_members(data, work, recipe, more, callbacks, report)
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


def _comment_on_more(unlabeled) -> str:
    return _comment("unlabeled sources", unlabeled) if unlabeled else ""


def _comment_of(folder, role) -> str:
    checksum = sha256_of(Path(folder) / MAIN_FILE)
    return f"# SHA-256 of the translator {role}: {checksum}\n"


def _read_more(unlabeled, recipe, teacher) -> list[str]:
    if unlabeled and not recipe.distill and teacher is None:
        raise ValueError(
            "`unlabeled` needs a recipe with `distill`, or a `teacher`. "
            f"Received: unlabeled={[*map(str, unlabeled)]}, distill=False, "
            "teacher=None. Set one of them."
        )
    return read_unlabeled(unlabeled, recipe.header)


def _train_members(data, work, recipe, more, callbacks, report) -> dict:
    """Train members in separate folders, combine them, and train a student."""
    found, one = {}, replace(recipe, members=1, distill=False)
    for number in range(recipe.members):
        own = replace(one, seed=recipe.seed + number)
        report(f"Member {number + 1} of {recipe.members}, seed {own.seed}")
        folder = work / f"seed_{own.seed}"
        found[folder.name] = train_one(data, folder, own, callbacks, report)
    found[ENSEMBLE] = join_translators([*found.values()], [*found])
    if recipe.distill:
        taught = taught_texts(data, found[ENSEMBLE], more, report)
        given = taught, work / STUDENT, one, callbacks, report
        found[STUDENT] = train_one(*given)
    return found


def _check_teacher(folder, teacher: Translator, tokenizers):
    own = teacher.source_tokenizer, teacher.target_tokenizer
    for side, one, other in zip(
        ("source", "target"), own, tokenizers, strict=True
    ):
        if not isinstance(one, type(other)) or one.to_json() != other.to_json():
            raise ValueError(
                "`teacher` must have the tokenizers of the new translator. "
                f"Received: teacher={str(folder)!r}, with another {side} "
                "tokenizer. Train both on the same files, with the same "
                "options of the tokenizers."
            )


def _score(translator: Translator, data: TrainingTexts, metric: str) -> str:
    """Evaluate a translator on the validation set."""
    texts = translator(data.validation[0], verbose=0)
    value = score_texts(metric, texts, [data.references]).value
    return f"{metric} {value:.4g}"


def read_unlabeled(
    files: Sequence[str | Path], header: bool = False
) -> list[str]:
    """Read sources without targets.

    Args:
        files: Files with one source per line, with features after a tab.
        header: Whether the first line of each file is a header. Defaults to
            `False`.

    Returns:
        The unique sources, without blank lines.
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
    """Add translations of a teacher to the training pairs.

    These are its best hypotheses for the training sources, if they differ from
    the targets, and for sources without targets. Sources with tokens outside
    the teacher's vocabulary are dropped with a warning.

    Args:
        data: The pairs.
        teacher: A trained translator.
        unlabeled: Sources without targets.
        report: Function that is called with a line of text.

    Returns:
        The pairs for the student, and the teacher's model.
    """
    unknown = teacher.source_tokenizer.unknown(unlabeled) if unlabeled else []
    known = [x for x, lost in zip(unlabeled, unknown, strict=True) if not lost]
    if len(known) < len(unlabeled):
        first = next(filter(None, unknown))[0]
        warnings.warn(
            f"{len(unlabeled) - len(known)} of {len(unlabeled)} unlabeled "
            f"sources contain tokens that are not in the training set, such "
            f"as {first!r}. They are dropped.",
            stacklevel=3,
        )
    sources, targets = data.train
    more = [*dict.fromkeys([*sources, *known])]
    pairs = dict.fromkeys(zip(sources, targets, strict=True))
    texts = zip(more, teacher(more, verbose=0), strict=True)
    new = [pair for pair in texts if pair[1] and pair not in pairs]
    report(f"Student: {len(sources)} pairs, and {len(new)} from the teacher")
    train = [*zip(sources, targets, strict=True), *new]
    return data._replace(
        train=tuple(map(list, zip(*train, strict=True))),
        note=f"{data.note}{_comment_on_more(unlabeled)}",
        teacher=teacher.model,
        temperature=1.0 if known else TEMPERATURE,
    )


def load_start(folder: str | Path, recipe: Recipe) -> Translator:
    """Load the translator to fine-tune.

    Args:
        folder: Path to the saved translator.
        recipe: The recipe of the fine-tuning.

    Returns:
        The translator.

    Raises:
        ValueError: If it cannot be loaded, if its model is not a `Seq2Seq`,
            or if an option differs that cannot be changed.
    """
    start = Translator.load(folder)
    if not isinstance(start.model, Seq2Seq) or start.source_tokenizer is None:
        raise ValueError(
            "Only a translator of text with one Seq2Seq can be fine-tuned. "
            f"Received: {folder}, with {type(start.model).__name__}. For an "
            "ensemble, pass one of its members, such as FOLDER/seed_0."
        )
    for name, value in fixed_options(folder).items():
        given = getattr(recipe, name)
        if given != value:
            raise ValueError(
                f"`{name}` must be {value!r}, as in {folder}, because "
                "fine-tuning cannot change it. Received: "
                f"{name}={given!r}. Leave it out, or train a new translator."
            )
    tagged = isinstance(start.source_tokenizer, TaggedTokenizer)
    if tagged != (recipe.features is not None):
        raise ValueError(
            "`features` must be a column index if the translator to fine-tune "
            f"reads tags, and only then. Received: features="
            f"{recipe.features} for {folder}, which reads "
            f"{'tags' if tagged else 'no tags'}."
        )
    return start


def report_growth(
    start: Translator, tokenizers: tuple, report: Callable[[str], None]
):
    """Report the number of new vocabulary entries.

    Args:
        start: The translator to fine-tune.
        tokenizers: The new source and target tokenizers.
        report: Function that is called with a line of text.
    """
    old = start.source_tokenizer, start.target_tokenizer
    counts = [
        len(y.vocabulary) - len(x.vocabulary)
        for x, y in zip(old, tokenizers, strict=True)
    ]
    report("New vocabulary: {} source and {} target tokens".format(*counts))
