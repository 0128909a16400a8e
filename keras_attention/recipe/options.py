"""What is decided about a translator and its training."""

import json
from dataclasses import asdict
from dataclasses import dataclass

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
from keras_attention.checks import check_object
from keras_attention.checks import check_rate
from keras_attention.outputs import HardAttention
from keras_attention.steps.primitives import NORMALIZATIONS
from keras_attention.text import CharacterTokenizer
from keras_attention.text import SentencePieceTokenizer
from keras_attention.text import SymbolTokenizer
from keras_attention.text import WordTokenizer
from keras_attention.text.tagged import check_separator
from keras_attention.training import MODES

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
    "character": lambda texts, **options: CharacterTokenizer.train(
        texts, 2**20, **options
    ),
    "symbol": lambda texts, **_: SymbolTokenizer.train(texts),
    "word": lambda texts, **options: WordTokenizer.train(
        texts, 8000, **options
    ),
    "sentencepiece": lambda texts, **options: SentencePieceTokenizer.train(
        texts, 1000, **options
    ),
}


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
        header: Whether the first line of each file is a header, to skip.
        lowercase: Whether both sides are put into lower case, but for symbols.
        max_length: The maximum number of tokens of a source or target, start
            and end included; longer pairs are left out. `None` for four times
            the length that 99 of 100 pairs do not exceed, 50 at least.
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
        patience: Number of epochs without a better one after which training
            stops; `None` for a third of all, 10 at least.
        batch_size: The maximum number of pairs in a batch.
        max_tokens: The maximum number of tokens of the source or target of a
            batch, padding included, as of `parallel_dataset`: batches of long
            pairs have fewer. `None` for 256 times `batch_size`.
        rate: The learning rate, at first.
        metric: What decides which epoch is best: a name of
            `ValidationScores`.
        beam_size: Beams of the translator's search.
        seed: Of weights, dropout and order.
        members: The number of models that are trained, with the seeds `seed`,
            `seed + 1` and so on. The result of several is their `Ensemble`.
        distill: Whether the result is one more model of the same size, which
            learns from the ensemble of the members: its probabilities of each
            token, and its texts, in addition to the pairs.
    """

    header: bool = False
    lowercase: bool = False
    max_length: int | None = None
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
    patience: int | None = None
    batch_size: int = 64
    max_tokens: int | None = None
    rate: float = 0.002
    metric: str = "accuracy"
    beam_size: int = 5
    seed: int = 0
    members: int = 1
    distill: bool = False

    def __post_init__(self):
        for name in ("source_tokenizer", "target_tokenizer"):
            check_choice(name, getattr(self, name), TOKENIZERS)
        check_choice("attention", self.attention, ATTENTIONS)
        check_choice("order", self.order, ("luong", "bahdanau"))
        check_choice("metric", self.metric, MODES)
        check_rate("dropout", self.dropout)
        check_number("rate", self.rate, above=0)
        sizes = "units", "layers", "batch_size", "beam_size", "members"
        for name in sizes:
            check_integer(name, getattr(self, name))
        optional = {
            "epochs": 1,
            "patience": 1,
            "max_length": 3,
            "max_tokens": 1,
        }
        for name, least in optional.items():
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), least)
        for name in ("header", "lowercase", "distill"):
            check_object(name, getattr(self, name), bool, "Give True or False.")
        check_integer("seed", self.seed, 0, 2**32 - self.members)
        if self.distill and self.members == 1:
            raise ValueError(
                "`distill` needs an ensemble to learn from. Received: "
                "distill=True, members=1. Set `members`, such as to 3."
            )
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
