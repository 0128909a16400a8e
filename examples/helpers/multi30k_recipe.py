"""The recipe of `translate_multi30k.py`: what is trained, and how."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import keras

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import CosineAttention
from keras_attention import CoverageAttention
from keras_attention import DotAttention
from keras_attention import LocationAwareAttention
from keras_attention import LuongGeneral
from keras_attention import MultiHead
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import TokenAccuracy
from keras_attention import ValidationScores
from keras_attention import resumable_fit

SCORES = {
    "additive": BahdanauAttention,
    "general": lambda _: LuongGeneral(),
    "scaled general": lambda _: LuongGeneral(use_scale="sqrt"),
    "dot": lambda _: DotAttention(scale="sqrt"),
    "cosine": lambda _: CosineAttention(beta=10.0),
    "location-aware": lambda units: LocationAwareAttention(units, 8, 5),
    "coverage": CoverageAttention,
    "none": lambda _: None,
}
WEIGHTS = "model.weights.h5"


@dataclass(frozen=True)
class Recipe:
    """All that is decided about the model and its training.

    Attributes:
        vocabulary_size: Ids of the vocabulary that both languages share.
        units: Size of embeddings, of each direction of the encoder, and of
            the attention; the decoder has twice as many.
        attention: One of `SCORES`.
        heads: Heads of the attention.
        order: `"bahdanau"` attends before the decoder's step, `"luong"` after.
        input_feeding: Whether the decoder reads its last attentional vector.
        append_inputs: Whether attention reads embeddings beside the encoder's
            outputs. `"dot"` and `"cosine"` cannot: their keys then are larger
            than their queries.
        lexical: Whether words are translated by their embeddings alone, too.
        dropout: Of embeddings, and of what the output layer reads.
        recurrent_dropout: Of states, one mask a sequence.
        word_dropout: Of all occurrences of a word in a sentence.
        sample_subwords: Probability that a merge of pieces is left out.
        label_smoothing: Probability that is spread over all words.
        average: Momentum of the moving average of weights, or 0 for none.
        rate: Largest learning rate. It rises over `warmup` steps, and falls
            as a cosine to 0 until the last epoch.
        warmup: Steps over which the learning rate rises.
        batch_size: Pairs in a batch.
        epochs: The most epochs.
        patience: Epochs without a better BLEU that end the training.
    """

    vocabulary_size: int = 6000
    units: int = 256
    attention: str = "additive"
    heads: int = 1
    order: str = "luong"
    input_feeding: bool = True
    append_inputs: bool = True
    lexical: bool = True
    dropout: float = 0.4
    recurrent_dropout: float = 0.2
    word_dropout: float = 0.0
    sample_subwords: float = 0.0
    label_smoothing: float = 0.1
    average: float = 0.998
    rate: float = 1.5e-3
    warmup: int = 400
    batch_size: int = 64
    epochs: int = 20
    patience: int = 8


def build(recipe: Recipe, vocabulary_size: int) -> Seq2Seq:
    """Make the model.

    Args:
        recipe: The recipe.
        vocabulary_size: The ids that the tokenizer really has.
    """
    units, heads = recipe.units, recipe.heads
    attention = SCORES[recipe.attention](units // heads)
    if heads > 1:
        attention = MultiHead(attention, heads)
    attends = attention is not None
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(
            2 * units, recurrent_dropout=recipe.recurrent_dropout
        ),
        attention,
        order=recipe.order,
        input_feeding=recipe.input_feeding,
        attention_layer_size=units if attends else None,
    )
    return Seq2Seq(
        source_vocabulary_size=vocabulary_size,
        target_vocabulary_size=vocabulary_size,
        embedding_dim=units,
        encoder=RecurrentEncoder(
            units,
            recurrent_dropout=recipe.recurrent_dropout,
            append_inputs=recipe.append_inputs,
        ),
        bridge=StateBridge(),
        decoder=AttentionDecoder(cell),
        tie_embeddings="all" if attends else False,  # sizes differ without
        lexical=recipe.lexical and attends,
        dropout=recipe.dropout,
        word_dropout=recipe.word_dropout,
    )


def claim(folder: Path, about: dict):
    """Note what a folder is for, or stop if it is for another training.

    Args:
        folder: Of the training. It is made if missing.
        about: What decides about the training, as JSON can hold it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / "training.json"
    if not note.exists():
        note.write_text(json.dumps(about, indent=1), encoding="utf-8")
    elif json.loads(note.read_text(encoding="utf-8")) != about:
        raise SystemExit(
            f"{note} belongs to a training with other arguments. Use these "
            "arguments again, or pass another folder with --folder."
        )


def compile_model(model: Seq2Seq, recipe: Recipe, steps: int):
    """Choose optimizer and loss.

    Args:
        model: What `build` has made.
        recipe: The recipe.
        steps: Batches of an epoch.
    """
    rate = keras.optimizers.schedules.CosineDecay(
        0.0,
        max(recipe.epochs * steps - recipe.warmup, 1),
        warmup_target=recipe.rate,
        warmup_steps=recipe.warmup,
    )
    adam = keras.optimizers.Adam(
        rate,
        global_clipnorm=1.0,
        use_ema=recipe.average > 0,
        ema_momentum=recipe.average,
    )
    model.compile(
        adam,
        loss=SequenceCrossentropy(label_smoothing=recipe.label_smoothing),
        metrics=[TokenAccuracy()],
    )


def train(
    model: Seq2Seq,
    recipe: Recipe,
    batches: Iterable,
    validation: Iterable,
    scores: ValidationScores,
    folder: Path,
    *others: keras.callbacks.Callback,
) -> keras.callbacks.History:
    """Fit, and leave the best weights and the curves in a folder.

    Run again after it was stopped, it goes on where it was.

    Args:
        model: What `build` has made.
        recipe: The recipe.
        batches: Of training, `((source, target[:, :-1]), target[:, 1:])`.
        validation: Likewise.
        scores: The BLEU by which the best epoch is chosen.
        folder: Gets `model.weights.h5` and `curves.csv`.
        *others: More callbacks.
    """
    compile_model(model, recipe, len(batches))
    # From here to the next epoch the model has its averaged weights.
    average = [keras.callbacks.SwapEMAWeights(swap_on_epoch=True)]
    keep = keras.callbacks.LambdaCallback(
        on_train_end=lambda _: model.save_weights(folder / WEIGHTS)
    )
    return resumable_fit(
        model,
        folder / "state",
        batches,
        save_freq=200,
        validation_data=validation,
        epochs=recipe.epochs,
        shuffle=False,  # `parallel_dataset` shuffles
        verbose=2,
        callbacks=[
            *others,
            *(average if recipe.average else []),
            scores,
            keras.callbacks.EarlyStopping(
                "val_bleu",
                mode="max",
                patience=recipe.patience,
                restore_best_weights=True,
            ),
            keras.callbacks.CSVLogger(folder / "curves.csv"),
            keep,  # before the state of the training is removed
        ],
    )
