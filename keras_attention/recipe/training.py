"""Train one model, and save its best epoch."""

import shutil
import time
import warnings
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np

from keras_attention.data.dataset import parallel_dataset
from keras_attention.files import replaced_folder
from keras_attention.recipe.model import make_model
from keras_attention.recipe.options import NOTE
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.report import write_report
from keras_attention.recipe.texts import TrainingTexts
from keras_attention.resume.fit import remove_training
from keras_attention.resume.fit import resumable_fit
from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.training import MODES
from keras_attention.training import SequenceCrossentropy
from keras_attention.training import SequenceDistillation
from keras_attention.training import SequenceDistiller
from keras_attention.training import ValidationScores
from keras_attention.translator import MAIN_FILE
from keras_attention.translator import Translator

EPOCHS, STEPS = 40, 2000  # the least of both
PATIENCE = 10  # epochs, at least
SMOOTHING = 0.1  # of labels
GIVEN_SHARE = 0.5  # of a student's loss: the texts; the rest is the teacher's
TIE = 1e-6  # of 100: what the loss counts in the metric
TOKENS = 256  # of each pair of a batch: longer ones make it smaller
LONGEST = 4  # times the longest reference: what validation writes at most
AVERAGED = 0.05  # of all steps: those whose weights are averaged
LENGTH_PENALTY = 1.0  # without it, beams of a weak model prefer short texts
CURVES = "curves.csv"


def train_one(
    data: TrainingTexts,
    folder: Path,
    recipe: Recipe,
    callbacks: Sequence[keras.callbacks.Callback],
    report: Callable[[str], None],
) -> Translator:
    """Train one model, and save it with a report.

    Args:
        data: The texts and their tokenizers.
        folder: The folder to save to. An interrupted training is resumed.
        recipe: The recipe.
        callbacks: As in `train_translator`.
        report: As in `train_translator`.

    Returns:
        The translator, with a beam search.
    """
    note = f"{data.note}{recipe.to_toml()}"
    if (trained := load_trained(folder, note, report)) is not None:
        return trained
    keras.utils.set_random_seed(recipe.seed)
    tokenizers = data.tokenizers
    if data.start is None:
        model = make_model(recipe, *(x.vocabulary_size for x in tokenizers))
    else:
        model = data.start.extended(tokenizers).model
    longest = int(max(tokenizers[1].count(data.train[1]))) * 3 // 2
    # In its first epochs a model may never end a text.
    enough = int(max(tokenizers[1].count(data.validation[1]))) * LONGEST
    limit = GreedySearch(max_length=min(longest, enough))
    greedy = Translator(model, *tokenizers, limit)
    beams = BeamSearch(
        recipe.beam_size, max_length=longest, length_penalty=LENGTH_PENALTY
    )
    translator = greedy.with_search(beams)
    work = folder.with_name(f"{folder.name}.training")

    def finish(history, best):  # before the state of the training is removed
        with replaced_folder(folder, MAIN_FILE) as new:
            translator.save(new)
            (new / NOTE).write_text(note, encoding="utf-8")
            shutil.copy(work / CURVES, new)
            write_report(new, translator, data, recipe, history, best)

    if work.exists():
        report(f"Resuming the training in {work}")
    work.mkdir(parents=True, exist_ok=True)
    _fit(model, recipe, data, greedy, work, callbacks, finish, report)
    remove_training(work)
    return translator


def load_trained(
    folder: Path, note: str, report: Callable[[str], None]
) -> Translator | None:
    """Load a translator if it was trained on the same texts and recipe.

    Args:
        folder: The folder.
        note: The expected content of its `NOTE`.
        report: Function that is called with a line of text.

    Returns:
        The translator; `None` if there is none.

    Raises:
        ValueError: If the folder contains anything else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    file = folder / NOTE
    if file.is_file() and file.read_text(encoding="utf-8") == note:
        report(f"{folder} is already trained with these files and options")
        return Translator.load(folder)
    raise ValueError(
        "`folder` already contains other files, or a model that was trained "
        f"with other files or options. Received: folder={str(folder)!r}. "
        "Choose another folder, or remove it."
    )


def _fit(model, recipe, data, greedy, work, callbacks, finish, report):
    tokenizers = data.tokenizers
    size = min(recipe.batch_size, len(data.train[0]))
    limit = {"max_tokens": recipe.max_tokens or TOKENS * recipe.batch_size}
    batches = parallel_dataset(
        *data.train, *tokenizers, size, True, recipe.seed, **limit
    )
    epochs = recipe.epochs or max(EPOCHS, -(-STEPS // len(batches)))
    steps = epochs * len(batches)
    adam = keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(recipe.rate, steps),
        global_clipnorm=1.0,
        use_ema=True,
        ema_momentum=1 - 1 / max(AVERAGED * steps, 2),
    )
    learner = _learner(model, data)
    learner.compile(adam, SequenceCrossentropy(label_smoothing=SMOOTHING))
    report(
        f"Model: {model.count_params():,} weights. Training: at most {epochs} "
        f"epochs of {len(batches)} batches"
    )
    best = BestEpoch(recipe, epochs)
    resumable_fit(
        learner,
        work,
        batches,
        validation_data=parallel_dataset(
            *data.validation, *tokenizers, size, **limit
        ),
        epochs=epochs,
        shuffle=False,  # `parallel_dataset` shuffles
        verbose=0,
        callbacks=[
            # From here to the next epoch the model has its averaged weights.
            keras.callbacks.SwapEMAWeights(swap_on_epoch=True),
            ValidationScores(
                greedy, data.validation[0], data.references, [recipe.metric]
            ),
            best,
            _Clock(),
            keras.callbacks.CSVLogger(work / CURVES, append=True),
            *callbacks,
            keras.callbacks.LambdaCallback(
                on_train_end=lambda _: finish(
                    learner.history.history, best.best_epoch
                )
            ),
        ],
    )
    _report_best(best, learner.history.history, recipe.metric, report)


def _learner(model, data) -> keras.Model:
    """Return the model to fit: the model itself, or one that distills."""
    if data.teacher is None:
        return model
    loss = SequenceDistillation(data.temperature)
    return SequenceDistiller(
        data.teacher, model, loss, student_loss_weight=GIVEN_SHARE
    )


class BestEpoch(keras.callbacks.EarlyStopping):
    """Restores the best epoch; `val_loss` decides between equal epochs.

    Args:
        recipe: The recipe, with metric and patience.
        epochs: Number of epochs.
    """

    def __init__(self, recipe, epochs):
        super().__init__(
            f"val_{recipe.metric}",
            mode=MODES[recipe.metric],
            patience=recipe.patience or max(PATIENCE, -(-epochs // 3)),
            restore_best_weights=True,
        )

    def get_monitor_value(self, logs):
        value, loss = super().get_monitor_value(logs), logs["val_loss"]
        # Less than any step of the metric, and more than its rounding.
        share = TIE * (1 - np.nan_to_num(1 / (1 + loss)))  # NaN is the worst
        return value - share if self.mode == "max" else value + share


def _report_best(best, history, metric, report):
    epoch, values = best.best_epoch, history[f"val_{metric}"]
    stuck = max(values) <= 0 if best.mode == "max" else min(values) >= 100
    if stuck:
        warnings.warn(
            f"`{metric}` was {values[epoch]:.4g} in every epoch, so the epoch "
            "with the lowest val_loss is kept. Choose another metric, such as "
            "`--metric cer`.",
            stacklevel=3,
        )
    report(
        f"Best epoch: {epoch + 1} of {len(values)}, with val_{metric} "
        f"{values[epoch]:.4g} and val_loss {history['val_loss'][epoch]:.4g}"
    )


class _Clock(keras.callbacks.Callback):
    """Adds the duration of an epoch in seconds to the logs."""

    def on_epoch_begin(self, epoch, logs=None):
        self.began = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        logs["seconds"] = time.perf_counter() - self.began
