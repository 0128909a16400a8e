"""From pairs of texts to a trained translator, by one call."""

import hashlib
import json
import shutil
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path

import keras

from keras_attention.alignments import ForwardAlignment
from keras_attention.alignments import Monotonic
from keras_attention.attention import BahdanauAttention
from keras_attention.attention import ChunkwiseAttention
from keras_attention.attention import CoverageAttention
from keras_attention.attention import LocationAwareAttention
from keras_attention.attention import LuongGeneral
from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_list
from keras_attention.checks import check_number
from keras_attention.checks import check_rate
from keras_attention.data.dataset import parallel_dataset
from keras_attention.data.pairs import read_pairs
from keras_attention.data.pairs import read_parallel
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import AttentionDecoderCell
from keras_attention.decoder import StateBridge
from keras_attention.files import replaced_folder
from keras_attention.models import RecurrentEncoder
from keras_attention.models import Seq2Seq
from keras_attention.outputs import AbstractOutput
from keras_attention.outputs import HardAttention
from keras_attention.plots import draw_curves
from keras_attention.plots import plot_attention_batch
from keras_attention.resume import resumable_fit
from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.text import AbstractTokenizer
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import TaggedTokenizer
from keras_attention.text import WordTokenizer
from keras_attention.text.cleaning import NORMALIZATIONS
from keras_attention.text.tagged import TAB
from keras_attention.text.tagged import check_separator
from keras_attention.text.tagged import split_tags
from keras_attention.training import MODES
from keras_attention.training import SequenceCrossentropy
from keras_attention.training import ValidationScores
from keras_attention.translator import MAIN_FILE
from keras_attention.translator import Translator

ATTENTIONS = {
    "additive": BahdanauAttention,
    "general": lambda _: LuongGeneral(use_scale="sqrt"),
    "location_aware": lambda units: LocationAwareAttention(units, 8, 5),
    "coverage": CoverageAttention,
    "entmax15": lambda units: BahdanauAttention(units, alignment="entmax15"),
    "sparsemax": lambda units: BahdanauAttention(units, alignment="sparsemax"),
    "monotonic": lambda units: BahdanauAttention(units, alignment=Monotonic()),
    "forward": lambda units: BahdanauAttention(
        units, alignment=ForwardAlignment()
    ),
    "chunkwise": lambda units: ChunkwiseAttention(
        BahdanauAttention(units, alignment=Monotonic()),
        BahdanauAttention(units),
        chunk_size=3,
    ),
    "hard": lambda units: HardAttention(BahdanauAttention(units), units),
    "hard_monotonic": lambda units: HardAttention(
        BahdanauAttention(units), units, order=1, monotonic=True
    ),
}
TOKENIZERS = {
    "character": lambda texts, form: CharacterTokenizer.train(
        texts, 2**20, normalization=form
    ),
    "symbol": lambda texts, _: SymbolTokenizer.train(texts),
    "word": lambda texts, form: WordTokenizer.train(
        texts, 8000, normalization=form
    ),
    "sentencepiece": lambda texts, form: SentencePieceTokenizer.train(
        texts, 1000, normalization=form
    ),
}
EPOCHS, STEPS = 40, 2000  # the least of both
SMOOTHING = 0.1  # of labels
AVERAGED = 0.05  # of all steps: those whose weights are averaged
SHOWN = 10  # texts whose attention is drawn
NOTE, CURVES = "recipe.toml", "curves.csv"


@dataclass(frozen=True)
class Recipe:
    """What is decided about a translator and its training.

    The defaults are for spelling, sounds and inflection: 500 to 20,000 short
    texts of small vocabularies. Embeddings, each direction of the LSTM encoder
    and attention have `units`, the LSTM decoder twice as many; the output is
    tied to the embeddings. It is trained by Adam with a rate that falls as a
    cosine, 0.1 of label smoothing, averaged weights, and batches of 8 lengths;
    the best epoch is kept.

    Attributes:
        source_tokenizer: `"character"`, `"symbol"`, `"word"` (at most 8,000)
            or `"sentencepiece"` (at most 1,000 pieces).
        target_tokenizer: Likewise.
        normalization: The form of Unicode of the source, unless it is of
            symbols. `"nfd"` cuts Hangul into letters.
        columns: The numbers of the columns of source and target, from 0 on.
        features: The number of the column of tags, or `None`.
        features_separator: What stands between two tags.
        attention: One of `ATTENTIONS`; those named `hard` are outputs, and
            tie no embeddings.
        order: `"luong"` attends after the decoder's step, `"bahdanau"` before.
        units: The size of all.
        layers: The LSTM layers of encoder and decoder.
        dropout: Of embeddings, and of what the output layer reads.
        epochs: Number of epochs; `None` for as many as train 2,000 batches,
            40 at least.
        batch_size: Pairs of a batch.
        rate: The learning rate, at first.
        metric: What decides which epoch is best: a name of
            `ValidationScores`.
        beam_size: Beams of the translator's search.
        seed: Of weights, dropout and order.
    """

    source_tokenizer: str = "character"
    target_tokenizer: str = "character"
    normalization: str = "nfc"
    columns: tuple[int, int] = (0, 1)
    features: int | None = None
    features_separator: str = ";"
    attention: str = "additive"
    order: str = "luong"
    units: int = 128
    layers: int = 1
    dropout: float = 0.3
    epochs: int | None = None
    batch_size: int = 64
    rate: float = 0.002
    metric: str = "accuracy"
    beam_size: int = 5
    seed: int = 0

    def __post_init__(self):
        for name in ("source_tokenizer", "target_tokenizer"):
            check_choice(name, getattr(self, name), TOKENIZERS)
        check_choice("attention", self.attention, ATTENTIONS)
        check_choice("order", self.order, ("luong", "bahdanau"))
        check_choice("metric", self.metric, MODES)
        check_rate("dropout", self.dropout)
        check_number("rate", self.rate, above=0)
        for name in ("units", "layers", "batch_size", "beam_size"):
            check_integer(name, getattr(self, name))
        if self.epochs is not None:
            check_integer("epochs", self.epochs)
        check_integer("seed", self.seed, 0, 2**32 - 1)
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        check_separator("features_separator", self.features_separator)
        columns = check_list("columns", self.columns, "numbers")
        for x in columns:
            check_integer("columns", x, 0)
        if self.features is not None:
            check_integer("features", self.features, 0)
        if len(columns) != 2 or self.features in columns:
            raise ValueError(
                "`columns` needs two columns, neither of them that of the "
                f"features. Received: columns={self.columns}, features="
                f"{self.features}. They are counted from 0."
            )

    def to_toml(self) -> str:
        """Write the recipe as TOML, a name a line."""
        given = {k: v for k, v in asdict(self).items() if v is not None}
        values = {
            k: json.dumps(v, ensure_ascii=False) for k, v in given.items()
        }
        return "".join(f"{name} = {value}\n" for name, value in values.items())


def train_translator(
    train: Sequence[str | Path],
    validation: Sequence[str | Path],
    folder: str | Path,
    recipe: Recipe | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> Translator:
    """Train a translator on pairs of texts, and save it.

    A call that was killed goes on when it is made again; its state is in a
    folder beside `folder`, with `.training` behind the name. One that has
    ended loads what it saved. The random seed of Keras is set.

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

    Returns:
        The translator, with a beam search.

    Raises:
        ValueError: If a file is broken, or if the folder or its state is that
            of other data or another recipe.
    """
    recipe, folder = recipe or Recipe(), Path(folder)
    pairs, others = (read_texts(files, recipe) for files in (train, validation))
    digest = hashlib.sha256(json.dumps([pairs, others]).encode()).hexdigest()
    note = f"# SHA-256 of the texts: {digest}\n{recipe.to_toml()}"
    if _is_trained(folder, note):
        return Translator.load(folder)
    keras.utils.set_random_seed(recipe.seed)
    tokenizers = make_tokenizers(*pairs, recipe)
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

    work.mkdir(parents=True, exist_ok=True)
    _fit(model, recipe, pairs, others, greedy, work, callbacks, finish)
    shutil.rmtree(work)
    return translator


def read_texts(
    files: Sequence[str | Path], recipe: Recipe
) -> tuple[list[str], list[str]]:
    """Read sources and targets.

    Args:
        files: One table, or a file of sources and one of their targets.
        recipe: Says which columns. With `features`, tags follow each source
            after a tab.

    Returns:
        Sources and targets.

    Raises:
        ValueError: If there are other files, or one is broken.
    """
    features = [] if recipe.features is None else [recipe.features]
    if len(files) == 1:
        columns = *recipe.columns, *features
        sources, targets, *tags = read_pairs(*files, columns)
        return [*map(TAB.join, zip(sources, *tags, strict=True))], targets
    if len(files) == 2 and not features:
        return read_parallel(*map(Path, files))
    raise ValueError(
        "A training needs one table, or a file of sources and one of targets, "
        f"and `features` are a column of a table. Received: {len(files)} "
        f"files, features={recipe.features}. Write one table."
    )


def make_tokenizers(
    sources: list[str], targets: list[str], recipe: Recipe
) -> tuple[AbstractTokenizer, AbstractTokenizer]:
    """Train the tokenizers of both sides.

    Args:
        sources: The sources.
        targets: Their targets.
        recipe: Says which kinds.

    Returns:
        Those of source and target.
    """
    rows = [text.partition(TAB) for text in sources]
    if recipe.features is not None:
        sources = [text for text, *_ in rows]
    source = TOKENIZERS[recipe.source_tokenizer](sources, recipe.normalization)
    target = TOKENIZERS[recipe.target_tokenizer](targets, "nfc")
    if recipe.features is not None:
        separator = recipe.features_separator
        tags = {tag for *_, x in rows for tag in split_tags(x, separator)}
        source = TaggedTokenizer(source, sorted(tags), separator)
    return source, target


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
    if not folder.is_dir() or not any(folder.iterdir()):
        return False
    file = folder / NOTE
    if file.is_file() and file.read_text(encoding="utf-8") == note:
        return True
    raise ValueError(
        "A training needs a new folder. Received: "
        f"{folder}, which has something else, or what was trained on other "
        "texts or by another recipe. Name another, or remove it."
    )


def _fit(model, recipe, pairs, others, greedy, work, callbacks, finish):
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
    resumable_fit(
        model,
        work,
        batches,
        validation_data=parallel_dataset(*others, *tokenizers, size),
        epochs=epochs,
        shuffle=False,  # `parallel_dataset` shuffles
        verbose=0,
        callbacks=[
            # From here to the next epoch the model has its averaged weights.
            keras.callbacks.SwapEMAWeights(swap_on_epoch=True),
            ValidationScores(greedy, *others, [recipe.metric]),
            keras.callbacks.EarlyStopping(
                f"val_{recipe.metric}",
                mode=MODES[recipe.metric],
                patience=epochs,
                restore_best_weights=True,
            ),
            _Clock(),
            keras.callbacks.CSVLogger(work / CURVES),
            *callbacks,
            keras.callbacks.LambdaCallback(on_train_end=finish),
        ],
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
