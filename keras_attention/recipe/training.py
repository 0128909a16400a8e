"""From pairs of texts to a trained translator, by one call."""

import hashlib
import json
import shutil
import time
import warnings
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np

from keras_attention.data.dataset import parallel_dataset
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import AttentionDecoderCell
from keras_attention.decoder import StateBridge
from keras_attention.files import replaced_folder
from keras_attention.models import RecurrentEncoder
from keras_attention.models import Seq2Seq
from keras_attention.outputs import AbstractOutput
from keras_attention.plots import draw_curves
from keras_attention.plots import plot_attention_batch
from keras_attention.recipe.options import ATTENTIONS
from keras_attention.recipe.options import Recipe
from keras_attention.recipe.pairs import warn_of_overlap
from keras_attention.recipe.texts import as_written
from keras_attention.recipe.texts import fit_tokenizers
from keras_attention.recipe.texts import read_files
from keras_attention.recipe.texts import sides
from keras_attention.resume import resumable_fit
from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.training import MODES
from keras_attention.training import SequenceCrossentropy
from keras_attention.training import ValidationScores
from keras_attention.translator import MAIN_FILE
from keras_attention.translator import Translator

EPOCHS, STEPS = 40, 2000  # the least of both
PATIENCE = 10  # epochs, at least
SMOOTHING = 0.1  # of labels
TIE = 1e-6  # of 100: what the loss counts in the metric
AVERAGED = 0.05  # of all steps: those whose weights are averaged
SHOWN = 10  # texts whose attention is drawn
NOTE, CURVES = "recipe.toml", "curves.csv"


def train_translator(
    train: Sequence[str | Path],
    validation: Sequence[str | Path],
    folder: str | Path,
    recipe: Recipe | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    report: Callable[[str], None] = lambda _: None,
) -> Translator:
    """Train a translator on pairs of texts, and save it.

    A call that was killed goes on when it is made again; its state is in a
    folder beside `folder`, with `.training` behind the name. One that has
    ended loads what it saved. The random seed of Keras is set.

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
            `curves.csv`, and with the extra `plots` pictures of the curves and
            of the attention of ten texts of `validation`.
        recipe: The recipe. Defaults to `None`, `Recipe()`.
        callbacks: More callbacks, which hear last of an epoch.
        report: Function that is called with a line of text on what was read,
            what is trained, and what was reached, such as `print`. Defaults to
            one that does nothing.

    Returns:
        The translator, with a beam search.

    Raises:
        ValueError: If a file is broken, or if the folder or its state is that
            of other data or another recipe.
    """
    recipe, folder = recipe or Recipe(), Path(folder)
    read = [read_files(files, recipe) for files in (train, validation)]
    warn_of_overlap(*read)
    texts = [sides(x) for x in read]
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    note = f"# SHA-256 of the texts: {digest}\n{recipe.to_toml()}"
    if _is_trained(folder, note):
        report(f"{folder} has been trained on these texts by this recipe.")
        return Translator.load(folder)
    keras.utils.set_random_seed(recipe.seed)
    (pairs, others), tokenizers = fit_tokenizers(read, recipe, report)
    model = make_model(recipe, *(x.vocabulary_size for x in tokenizers))
    longest = int(max(tokenizers[1].count(pairs[1]))) * 3 // 2
    greedy = Translator(model, *tokenizers, GreedySearch(max_length=longest))
    beams = BeamSearch(recipe.beam_size, max_length=longest)
    translator = greedy.with_search(beams)
    work = folder.with_name(f"{folder.name}.training")

    def finish(_):  # before the state of the training is removed
        with replaced_folder(folder, MAIN_FILE) as new:
            translator.save(new)
            (new / NOTE).write_text(note, encoding="utf-8")
            shutil.copy(work / CURVES, new)
            _draw(translator, others[0][:SHOWN], recipe.metric, new)

    if work.exists():
        report(f"Resumes the training in {work}")
    work.mkdir(parents=True, exist_ok=True)
    written = as_written(tokenizers[1], others[1], report)
    others = *others, written
    _fit(model, recipe, pairs, others, greedy, work, callbacks, finish, report)
    shutil.rmtree(work)
    return translator


def make_model(
    recipe: Recipe, source_vocabulary_size: int, target_vocabulary_size: int
) -> Seq2Seq:
    """Make the model of a recipe, with random weights.

    Args:
        recipe: The recipe.
        source_vocabulary_size: Number of source ids.
        target_vocabulary_size: Number of target ids.

    Returns:
        The model, which is built.
    """
    units, layers = recipe.units, range(recipe.layers)
    attention = ATTENTIONS[recipe.attention](units)
    hard = isinstance(attention, AbstractOutput)
    cell = AttentionDecoderCell(
        [keras.layers.LSTMCell(2 * units) for _ in layers],
        None if hard else attention,
        recipe.order,
        attention_layer_size=None if hard else units,
    )
    model = Seq2Seq(
        source_vocabulary_size=source_vocabulary_size,
        target_vocabulary_size=target_vocabulary_size,
        embedding_dim=units,
        encoder=RecurrentEncoder(
            units, recipe.layers, dropout=recipe.dropout if layers[1:] else 0.0
        ),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
        tie_embeddings=not hard,
        dropout=recipe.dropout,
        output=attention if hard else None,
    )
    model.build(((None, None), (None, None)))
    return model


def _is_trained(folder, note) -> bool:
    """Whether the folder is what will be trained; an error if another."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    file = folder / NOTE
    if file.is_file() and file.read_text(encoding="utf-8") == note:
        return True
    raise ValueError(
        "A training needs a new folder. Received: "
        f"{folder}, which has something else, or what was trained on other "
        "texts or by another recipe. Name another, or remove it."
    )


def _fit(model, recipe, pairs, others, greedy, work, callbacks, finish, report):
    tokenizers = greedy.source_tokenizer, greedy.target_tokenizer
    size = min(recipe.batch_size, len(pairs[0]))
    batches = parallel_dataset(
        *pairs, *tokenizers, size, training=True, seed=recipe.seed
    )
    epochs = recipe.epochs or max(EPOCHS, -(-STEPS // len(batches)))
    steps = epochs * len(batches)
    adam = keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(recipe.rate, steps),
        global_clipnorm=1.0,
        use_ema=True,
        ema_momentum=1 - 1 / max(AVERAGED * steps, 2),
    )
    model.compile(adam, SequenceCrossentropy(label_smoothing=SMOOTHING))
    report(
        f"Model: {model.count_params():,} weights. Training: at most {epochs} "
        f"epochs of {len(batches)} batches"
    )
    best = BestEpoch(recipe, epochs)
    sources, targets, written = others
    resumable_fit(
        model,
        work,
        batches,
        validation_data=parallel_dataset(sources, targets, *tokenizers, size),
        epochs=epochs,
        shuffle=False,  # `parallel_dataset` shuffles
        verbose=0,
        callbacks=[
            # From here to the next epoch the model has its averaged weights.
            keras.callbacks.SwapEMAWeights(swap_on_epoch=True),
            ValidationScores(greedy, sources, written, [recipe.metric]),
            best,
            _Clock(),
            keras.callbacks.CSVLogger(work / CURVES),
            *callbacks,
            keras.callbacks.LambdaCallback(on_train_end=finish),
        ],
    )
    _report_best(best, model.history.history, recipe.metric, report)


class BestEpoch(keras.callbacks.EarlyStopping):
    """Keeps the best epoch: of equal ones, the one with the least `val_loss`.

    Args:
        recipe: Says by which metric, and with how much patience.
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
            "with the least val_loss is kept. Choose another metric, such as "
            "`--metric cer`.",
            stacklevel=3,
        )
    report(
        f"Best epoch: {epoch + 1} of {len(values)}, with val_{metric} "
        f"{values[epoch]:.4g} and val_loss {history['val_loss'][epoch]:.4g}"
    )


class _Clock(keras.callbacks.Callback):
    """Writes the seconds of an epoch to the logs."""

    def on_epoch_begin(self, epoch, logs=None):
        self.began = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        logs["seconds"] = time.perf_counter() - self.began


def _draw(translator, texts, metric, folder):
    """Draw curves and attention, or say why not."""
    history = translator.model.history.history
    losses = "loss", "val_loss"
    try:
        curves = draw_curves(history, [losses, [f"val_{metric}"]])
        curves.savefig(folder / "curves.png")
        found = translator(texts, return_attention_scores=True, verbose=0)
        axes = plot_attention_batch(
            found.attention, found.source_tokens, found.target_tokens
        )
        axes[0].figure.savefig(folder / "attention.png", bbox_inches="tight")
    except ImportError as error:
        warnings.warn(f"No pictures: {error}", stacklevel=2)
