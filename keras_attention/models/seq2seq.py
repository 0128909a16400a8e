"""An encoder-decoder with everything in place, from ids to ids."""

import inspect
import math

import keras
from keras import ops

from keras_attention.checks import check_positive
from keras_attention.checks import check_rate
from keras_attention.lookup import fast_path
from keras_attention.models.decoder import AttentionDecoder
from keras_attention.models.generation import generation_compiler
from keras_attention.models.masks import carried_mask
from keras_attention.ops import widen
from keras_attention.search import GreedySearch

PARTS = ("encoder", "decoder", "bridge")


@keras.saving.register_keras_serializable(package="keras_attention")
class Seq2Seq(keras.Model):
    """Embeds, encodes, bridges, decodes, and scores the next word.

    Formula:
        logits[t] = output(decoder(embed(target[:t]), encoder(embed(source))))

    It trains by teacher forcing, on `((source, target[:, :-1]), target[:,
    1:])`, and generates with the same decoder cell. Id 0 is padding on both
    sides; it is masked everywhere, explicitly.

    Embeddings start with variance `1 / embedding_dim` and go in multiplied by
    `sqrt(embedding_dim)`, with variance 1. With Keras' default of 0.0008 an
    LSTM stays on a plateau for its first epoch.

    Args:
        target_vocabulary_size: How many ids the target has.
        embedding_dim: Size of the embeddings.
        encoder: A Keras layer that returns `sequence, *states`, such as a
            `Bidirectional(LSTM(...))` with both of them returned, or
            `RecurrentEncoder`. If it changes the length it must carry a mask
            of its own.
        decoder: An `AttentionDecoder` that returns sequences.
        source_vocabulary_size: How many ids the source has, or `None`: then
            the source goes to the encoder unembedded, such as speech.
            Defaults to `None`.
        bridge: A layer from the encoder's states to the decoder's, such as
            `StateBridge`; `None` hands them on as they are. Defaults to
            `None`.
        tie_embeddings: Whether the output layer is the target embedding,
            transposed, without a bias. Defaults to `False`.
        dropout: Rate at which embeddings and the output layer's inputs are
            dropped in training. Defaults to `0.0`.
        **kwargs: Keras model arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Pair of the source, ids `(B, Tv)` or features `(B, Tv, D)`,
            and the target ids `(B, T)` that are known when each next one is
            to be told.
        training: Whether to apply dropout.

    Returns:
        Logits `(B, T, V)`.

    Raises:
        ValueError: If `decoder` is no `AttentionDecoder` that returns
            sequences, or if embeddings are tied whose size is not the
            decoder's.
    """

    # Keras on TensorFlow would trace `call` with floats when it exports.
    _default_save_signature = None

    def __init__(
        self,
        *,
        target_vocabulary_size: int,
        embedding_dim: int,
        encoder,
        decoder,
        source_vocabulary_size: int | None = None,
        bridge=None,
        tie_embeddings: bool = False,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive("embedding_dim", embedding_dim)
        check_positive("target_vocabulary_size", target_vocabulary_size)
        check_rate("dropout", dropout)
        sequences = getattr(decoder, "return_sequences", False)
        if not isinstance(decoder, AttentionDecoder) or not sequences:
            raise ValueError(
                "`decoder` must be an AttentionDecoder with "
                f"return_sequences=True. Received: decoder={decoder}"
            )
        self.source_vocabulary_size = source_vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        self.embedding_dim = embedding_dim
        self.encoder = encoder
        self.decoder = decoder
        self.bridge = bridge
        self.tie_embeddings = tie_embeddings
        self.dropout = dropout
        self.supports_masking = True
        self._compiled_generation = generation_compiler(self)
        self._add_ends()

    def _add_ends(self):
        """Make the layers at the model's ends: words in, logits out."""
        options = {"dtype": self.dtype_policy}
        spread = keras.initializers.RandomNormal(
            stddev=1 / math.sqrt(self.embedding_dim)
        )
        self.source_embedding = None
        if self.source_vocabulary_size is not None:
            self.source_embedding = keras.layers.Embedding(
                self.source_vocabulary_size,
                self.embedding_dim,
                embeddings_initializer=spread,
                name="source_embedding",
                **options,
            )
        self.target_embedding = keras.layers.ReversibleEmbedding(
            self.target_vocabulary_size,
            self.embedding_dim,
            embeddings_initializer=spread.clone(),
            name="target_embedding",
            **options,
        )
        self.output_layer = None
        if not self.tie_embeddings:
            self.output_layer = keras.layers.Dense(
                self.target_vocabulary_size, name="output_layer", **options
            )
        self.drop = keras.layers.Dropout(self.dropout, **options)

    def call(self, inputs, training=None):
        source, target = inputs
        memory, states, mask = self.encode(source, training)
        outputs = self.decoder(
            self.drop(self._embed_target(target), training=training),
            memory,
            initial_state=states,
            sequence_mask=ops.not_equal(target, 0),
            memory_mask=mask,
            training=training,
        )
        outputs = outputs[0] if isinstance(outputs, tuple | list) else outputs
        return self.logits(self.drop(outputs, training=training))

    def encode(self, source, training=None):
        """Encode a source: the memory, the decoder's states, the mask.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            training: Whether to apply dropout.

        Returns:
            Memory `(B, Tv, Dv)`, the list of states for the decoder's cells
            or `None`, and the memory's mask `(B, Tv)` or `None`.
        """
        mask = carried_mask(source)
        if self.source_embedding is not None:
            mask = ops.not_equal(source, 0)
            source = self._scale * self.source_embedding(source)
        options = {"training": training, "mask": mask}
        taken = inspect.signature(self.encoder.call).parameters
        found = self.encoder(
            self.drop(source, training=training),
            **{k: v for k, v in options.items() if k in taken},
        )
        memory, *states = found if isinstance(found, tuple | list) else [found]
        states = states if self.bridge is None else self.bridge(states)
        carried = carried_mask(memory)
        return memory, states or None, mask if carried is None else carried

    def _embed_target(self, target):
        return self._scale * self.target_embedding(target)

    @property
    def _scale(self):
        return math.sqrt(self.embedding_dim)

    def logits(self, outputs):
        """Score every word of the target's vocabulary."""
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

    def generate(self, source, search=None, prefix=None):
        """Generate a target for every source.

        Outside of a graph it is compiled, once for each search: on JAX, and
        on TensorFlow if the model is compiled with `jit_compile=True`, for
        ids padded to a few sizes. No gradient goes through it.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            search: A search strategy. Defaults to `GreedySearch()`.
            prefix: Ids `(B, P)` that every target of a row begins with, 0
                after the last, or `None`. Defaults to `None`.

        Returns:
            A `Generation`. Its weights are those of the cell's attention, or
            the mean over them if there are several.
        """
        search = GreedySearch() if search is None else search
        source = ops.convert_to_tensor(source)
        if prefix is not None:
            prefix = ops.convert_to_tensor(prefix, "int32")

        def generate(source, prefix):
            return self._generate(source, search, prefix)

        is_traced = fast_path("is_traced")
        if is_traced is None or is_traced(source) or not self.built:
            return generate(source, prefix)
        if carried_mask(source) is not None:  # which would not get inside
            return generate(source, prefix)
        return self._compiled_generation(generate, search)(source, prefix)

    def _generate(self, source, search, prefix):
        cell = self.decoder.cell
        memory, states, mask = self.encode(source, training=False)
        prepared = cell.prepare(memory, mask)
        states = cell.initial_state(prepared, states, beams=1)

        def step(tokens, states):
            words = self._embed_target(tokens)  # (B, K, E)
            output, weights, states = cell.step(words, states, prepared)
            log_probs = ops.log_softmax(widen(self.logits(output)), axis=-1)
            if isinstance(weights, list):
                weights = sum(weights) / len(weights)
            return log_probs, states, weights

        rows = ops.shape(source)[0]
        return search(step, states, rows, memory_mask=mask, prefix=prefix)

    def compute_mask(self, inputs, previous_mask=None):
        return None  # those of the inputs are not of the logits

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        own = {
            "source_vocabulary_size": self.source_vocabulary_size,
            "target_vocabulary_size": self.target_vocabulary_size,
            "embedding_dim": self.embedding_dim,
            "tie_embeddings": self.tie_embeddings,
            "dropout": self.dropout,
        }
        parts = {name: serialize(getattr(self, name)) for name in PARTS}
        return {**super().get_config(), **own, **parts}

    @classmethod
    def from_config(cls, config):
        restore = keras.saving.deserialize_keras_object
        parts = {name: restore(config[name]) for name in PARTS}
        return cls(**{**config, **parts})
