"""The base of word models: embeddings, and scores of the next word."""

import functools
import math

import keras
from keras import ops

from keras_attention.checks import check_choice
from keras_attention.checks import check_integer
from keras_attention.checks import check_rate
from keras_attention.layers import Dropout
from keras_attention.layers import Embedding
from keras_attention.layers import ReversibleEmbedding
from keras_attention.layers import WordDropout
from keras_attention.models.copying import PointerGenerator
from keras_attention.models.lexical import LexicalTranslation
from keras_attention.models.next_word import mean
from keras_attention.ops.tokens import fused

UNKNOWN = 1  # id of all words that are not in the vocabulary


class AbstractWordModel(keras.Model):
    """Embeds source and target words, and scores the next word.

    Embeddings are initialized with variance `1 / embedding_dim` and scaled by
    `sqrt(embedding_dim)` to variance 1. With the variance of Keras' default,
    0.0008, an LSTM stays on a plateau for its first epoch.

    Args:
        target_vocabulary_size: Number of target ids.
        embedding_dim: Size of the embeddings.
        source_vocabulary_size: Number of source ids, or `None` if the source
            consists of features. Defaults to `None`.
        tie_embeddings: Whether the output layer is the target embedding,
            transposed, without a bias. `"all"`: the source embedding is the
            same as well, which needs one vocabulary. Defaults to `False`.
        dropout: Rate at which embeddings and the output layer's inputs are
            dropped in training. Defaults to `0.0`.
        word_dropout: Rate at which words are dropped in training, all
            occurrences of a word in a sequence together. Defaults to `0.0`.
        copying: Whether source words can be copied. Defaults to `False`.
        lexical: Whether source words are translated one by one, too. Defaults
            to `False`.
        **kwargs: Keras model arguments, such as `name` and `dtype`.

    Raises:
        ValueError: If a size is not positive, if a rate is not in
            `[0, 1)`, or if `copying` is set, or all embeddings are tied, and
            the vocabularies differ, or if `lexical` is set and the source
            consists of features.
    """

    def __init__(
        self,
        target_vocabulary_size: int,
        embedding_dim: int,
        source_vocabulary_size: int | None = None,
        tie_embeddings: bool | str = False,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        copying: bool = False,
        lexical: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integer("embedding_dim", embedding_dim)
        check_integer("target_vocabulary_size", target_vocabulary_size)
        if source_vocabulary_size is not None:
            check_integer("source_vocabulary_size", source_vocabulary_size)
        check_rate("dropout", dropout)
        check_rate("word_dropout", word_dropout)
        check_choice("tie_embeddings", tie_embeddings, (False, True, "all"))
        joint = {"copying=True": copying}
        joint["tie_embeddings='all'"] = tie_embeddings == "all"
        needing = " and ".join(name for name, on in joint.items() if on)
        if needing and source_vocabulary_size != target_vocabulary_size:
            raise ValueError(
                f"{needing} needs one vocabulary for source and target. "
                f"Received: source_vocabulary_size={source_vocabulary_size}, "
                f"target_vocabulary_size={target_vocabulary_size}. Train one "
                "tokenizer on both sides, and use it for both."
            )
        if lexical and source_vocabulary_size is None:
            raise ValueError(
                "lexical=True needs a source of ids, which are embedded. "
                "Received: source_vocabulary_size=None, a source of features. "
                "Leave `lexical` out."
            )
        self.source_vocabulary_size = source_vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        self.embedding_dim = embedding_dim
        self.tie_embeddings = tie_embeddings
        self.dropout = dropout
        self.word_dropout = word_dropout
        self.copying = copying
        self.lexical = lexical
        self._add_layers()

    def _add_layers(self):
        options = {"dtype": self.dtype_policy}
        spread = keras.initializers.RandomNormal(
            stddev=1 / math.sqrt(self.embedding_dim)
        )
        self.source_embedding = None
        if (
            self.tie_embeddings != "all"
            and self.source_vocabulary_size is not None
        ):
            self.source_embedding = Embedding(
                self.source_vocabulary_size,
                self.embedding_dim,
                embeddings_initializer=spread,
                name="source_embedding",
                **options,
            )
        self.target_embedding = ReversibleEmbedding(
            self.target_vocabulary_size,
            self.embedding_dim,
            embeddings_initializer=spread.clone(),
            name="target_embedding",
            **options,
        )
        if self.tie_embeddings == "all":
            self.source_embedding = self.target_embedding
        self.output_layer = None
        if not self.tie_embeddings:
            self.output_layer = keras.layers.Dense(
                self.target_vocabulary_size, name="output_layer", **options
            )
        self.drop = Dropout(self.dropout, **options)
        self.drop_words = WordDropout(self.word_dropout, **options)
        self.pointer_generator = None
        if self.copying:
            self.pointer_generator = PointerGenerator(
                self.target_vocabulary_size, name="pointer_generator", **options
            )
        self.lexical_translation = None
        if self.lexical:
            self.lexical_translation = LexicalTranslation(
                self.target_vocabulary_size,
                dropout=self.dropout,
                name="lexical_translation",
                **options,
            )

    def get_build_config(self) -> dict | None:
        """Add how the output layer is quantized, for saved models."""
        config = super().get_build_config()
        mode = self.output_layer and self.output_layer.quantization_mode
        return {**config, "quantized": mode} if config and mode else config

    def build_from_config(self, config: dict):
        super().build_from_config(config)
        if config.get("quantized"):
            self.output_layer.quantize(config["quantized"])

    def embed_source(self, source, training: bool | None = False):
        """Embed source ids `(...)` to `(..., E)`.

        With `copying`, ids beyond the vocabulary are embedded as unknown.

        Args:
            source: Ids; `(B, Tv)` in training.
            training: Whether to drop words. Defaults to `False`.

        Returns:
            Embedded words.
        """
        return self._embed(self.source_embedding, source, training)

    def embed_target(self, target, training: bool | None = False):
        """Embed target ids `(...)` to `(..., E)`, as `embed_source` does.

        Args:
            target: Ids; `(B, T)` in training.
            training: As in `embed_source`.

        Returns:
            Embedded words.
        """
        return self._embed(self.target_embedding, target, training)

    def _embed(self, layer, ids, training):
        words = self._scale * layer(self._known(ids), training=training)
        return self.drop_words(words, ids, training=training)

    def _known(self, ids):
        if not self.copying:
            return ids
        return ops.where(ids < self.target_vocabulary_size, ids, UNKNOWN)

    @property
    def _scale(self):
        return math.sqrt(self.embedding_dim)

    def lexicon(self, source, training: bool | None = None):
        """Embed what a lexical model translates word by word.

        Args:
            source: Ids `(B, Tv)`.
            training: Whether to apply dropout.

        Returns:
            `(B, Tv, E)`, or `None` if the model is not lexical.
        """
        if not self.lexical:
            return None
        words = self.embed_source(source, training)
        return self.drop(words, training=training)

    def logits(self, outputs):
        """Score every word of the vocabulary.

        Args:
            outputs: The decoder's outputs, `(..., D)`.

        Returns:
            Logits `(..., V)`.

        Raises:
            ValueError: If embeddings are tied and `D` is not their size.
        """
        if self.output_layer is not None:
            return self.output_layer(outputs)
        if outputs.shape[-1] != self.embedding_dim:
            raise ValueError(
                "`tie_embeddings` needs a decoder whose outputs have the size "
                "of the embeddings. Received: outputs of size "
                f"{outputs.shape[-1]}, embedding_dim={self.embedding_dim}. "
                "Set attention_layer_size of its cell to embedding_dim."
            )
        return self.target_embedding(outputs, reverse=True)

    def add_lexicon(self, logits, weights, lexicon, training=False):
        """Add what a lexical model says of the words attended to.

        Args:
            logits: The decoder's, `(B, T, V)`.
            weights: As in `score_words`.
            lexicon: Likewise.
            training: Likewise. Defaults to `False`.

        Returns:
            Logits `(B, T, V)`; those of the decoder without a lexicon.
        """
        if lexicon is None:
            return logits
        layer = self.lexical_translation
        return logits + layer(mean(weights), lexicon, training=training)

    def score_words(
        self, outputs, words, weights, mix=None, lexicon=None, training=False
    ):
        """Score the next words, with copying if `mix` is given.

        Args:
            outputs: The decoder's outputs, `(B, T, D)`.
            words: The decoder's inputs, `(B, T, E)`.
            weights: Weights of its attention, `(B, T, Tv)`, or a list of
                those of several attentions.
            mix: Function from logits, features and weights to log
                probabilities with copied words, or `None` without copying.
            lexicon: The embedded source `(B, Tv, E)` of a lexical model, else
                `None`. Defaults to `None`.
            training: Whether to apply dropout to what the lexicon says.
                Defaults to `False`.

        Returns:
            Scores `(B, T, V)`, or `(B, T, V + Tv)` with copies.
        """
        logits = self.logits(outputs)
        logits = self.add_lexicon(logits, weights, lexicon, training)
        if mix is None:
            return logits
        features = ops.concatenate([outputs, words], axis=-1)
        return mix(logits, features, mean(weights))

    @functools.wraps(keras.Model.compute_loss)
    def compute_loss(self, *args, **kwargs):
        with fused(self.jit_compile):
            return super().compute_loss(*args, **kwargs)

    @functools.wraps(keras.Model.compute_metrics)
    def compute_metrics(self, *args, **kwargs):
        with fused(self.jit_compile):
            return super().compute_metrics(*args, **kwargs)

    def get_config(self) -> dict:
        own = {
            "source_vocabulary_size": self.source_vocabulary_size,
            "target_vocabulary_size": self.target_vocabulary_size,
            "embedding_dim": self.embedding_dim,
            "tie_embeddings": self.tie_embeddings,
            "dropout": self.dropout,
            "word_dropout": self.word_dropout,
            "copying": self.copying,
            "lexical": self.lexical,
        }
        return {**super().get_config(), **own}
