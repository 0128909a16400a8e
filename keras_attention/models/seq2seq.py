"""A complete encoder-decoder model, from source ids to target ids."""

import functools

import keras
from keras import tree

from keras_attention.backend import ops
from keras_attention.checks import check_built
from keras_attention.checks import check_integer
from keras_attention.checks import check_rate
from keras_attention.checks import check_size
from keras_attention.decoder import AttentionDecoder
from keras_attention.layers import AbstractConfigured
from keras_attention.layers import Dropout
from keras_attention.layers import WordDropout
from keras_attention.layers import carried_mask
from keras_attention.layers import obeys_masks
from keras_attention.layers import symbolic_result
from keras_attention.layers.embeddings import embed
from keras_attention.layers.embeddings import make_embeddings
from keras_attention.layers.embeddings import with_a_position
from keras_attention.models import checks
from keras_attention.models.base import BUILD
from keras_attention.models.base import AbstractModel
from keras_attention.models.base import Begun
from keras_attention.models.base import as_tensors
from keras_attention.models.encoder import RecurrentEncoder
from keras_attention.models.encoder import check_states
from keras_attention.models.encoder import encode
from keras_attention.models.generation import begin_stream
from keras_attention.models.views import WithOutput
from keras_attention.outputs import AbstractOutput
from keras_attention.outputs import Decoded
from keras_attention.outputs import ShortlistOutput
from keras_attention.outputs import Source
from keras_attention.outputs import check_arguments
from keras_attention.outputs import extended_output
from keras_attention.outputs import plain_output
from keras_attention.training.scheduled_sampling import feed_guesses


@keras.saving.register_keras_serializable(package="keras_attention")
class Seq2Seq(AbstractConfigured, AbstractModel):
    """Encodes a source, decodes a target, and scores each next token.

    Formula:

        logits[t] = output(decoder(embed(target[:t]), encoder(embed(source))))

    Train the model by teacher forcing on `((source, target[:, :-1]), target[:,
    1:])`. Training and generation use the same decoder cell. Id 0 is padding in
    source and target, and is masked everywhere. `compile` accepts
    `SequenceCrossentropy`, `TokenAccuracy`, `Perplexity`, and losses and
    metrics of your own. It does not accept losses and metrics of Keras, because
    they would treat logits as probabilities, or padding as tokens.

    Args:
        target_vocabulary_size: Number of target ids.
        embedding_dim: Size of the embeddings.
        encoder: A Keras layer that returns `sequence, *states`, such as
            `RecurrentEncoder`, or a `Bidirectional(LSTM(...))` that returns
            sequences and states. If the encoder changes the length or the order
            of positions, its output must carry a mask, for example from
            `compute_mask`; for recurrent layers of Keras with
            `go_backwards=True`, you need no mask. If the encoder reads padding,
            as `Conv1D` does, its output depends on the longest source of the
            batch.
        decoder: An `AttentionDecoder` that returns sequences.
        source_vocabulary_size: Number of source ids. Use `None` if the source
            consists of features, such as speech, which are not embedded.
            Defaults to `None`.
        bridge: A layer that maps the encoder's states to the decoder's, such as
            `StateBridge`. `None` passes the states unchanged. Defaults to
            `None`.
        tie_embeddings: Whether the output layer is the transposed target
            embedding, without a bias. With `"all"`, the source embedding is
            shared as well, which requires one vocabulary. Defaults to `False`.
        dropout: Rate at which embeddings and the output layer's inputs are
            dropped in training. Defaults to `0.0`.
        word_dropout: Rate at which source tokens and decoder input tokens are
            dropped in training; all occurrences of a token in a sequence are
            dropped together. Dropped embeddings are set to 0, and the others
            are divided by `1 - word_dropout`. Defaults to `0.0`.
        copying: Whether source tokens can be copied to the target, including
            tokens that are not in the vocabulary; see `PointerGenerator`. This
            requires one vocabulary for source and target. Defaults to `False`.
        lexical: Whether to add scores that depend only on the embeddings of the
            attended source tokens; see `LexicalTranslation`. This requires an
            encoder that keeps the length of the source. Defaults to `False`.
        scheduled_sampling: Whether training replaces input tokens with the
            model's own predictions. The model stores the probability in its
            non-trainable weight `sampling_probability`, which is 0 until the
            callback `ScheduledSampling` sets it. Defaults to `False`.
        return_attention_scores: Whether a call also returns the attention
            weights, for a plot or a loss. Defaults to `False`.
        output: An `AbstractOutput` that scores tokens, in place of
            `tie_embeddings`, `copying` and `lexical`. Or `"entmax15"` or
            `"sparsemax"` to replace the softmax of the default output with a
            sparse function that gives exact zeros; train it with `EntmaxLoss`.
            Defaults to `None`.
        **kwargs: Keras model arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Pair `(source, target)`. The source is ids `(B, Tv)` or features
            `(B, Tv, D)`; the target is the decoder's input ids `(B, T)`.
        training: Whether to apply dropout and scheduled sampling.

    Returns:
        logits: `(B, T, V)`; with `copying`, log probabilities `(B, T, V + Tv)`.
        weights: `(B, T, Tv)`, on request; a list with one tensor for each
            attention layer if the cell has several.

    Raises:
        ValueError: If `decoder` is not an `AttentionDecoder` that returns
            sequences; if `copying`, `lexical` or `return_attention_scores`
            needs attention, but the decoder has none; if `copying` or
            `tie_embeddings="all"` needs one vocabulary, but the vocabulary
            sizes differ; if `lexical` is set, but the source is not embedded;
            if embeddings are tied, but their size is not that of the decoder's
            outputs; if `output` is not an `AbstractOutput`; or if `output` is
            combined with an argument that it replaces.

    Example:

    >>> cell = AttentionDecoderCell(GRUCell(16), BahdanauAttention(16))
    >>> model = Seq2Seq(
    ...     source_vocabulary_size=20,
    ...     target_vocabulary_size=30,
    ...     embedding_dim=4,
    ...     encoder=RecurrentEncoder(8, cell="gru"),
    ...     bridge=StateBridge(),
    ...     decoder=AttentionDecoder(cell),
    ... )
    >>> source, target = np.array([[2, 7, 8, 3]]), np.array([[2, 9, 5]])
    >>> tuple(model((source, target)).shape)
    (1, 3, 30)
    """

    made = "source_embedding", "target_embedding", "output_layer"
    made += "pointer_generator", "lexical_translation"

    def __init__(
        self,
        *,
        target_vocabulary_size: int,
        embedding_dim: int,
        encoder: keras.layers.Layer,
        decoder: AttentionDecoder,
        source_vocabulary_size: int | None = None,
        bridge: keras.layers.Layer | None = None,
        tie_embeddings: bool | str = False,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        copying: bool = False,
        lexical: bool = False,
        scheduled_sampling: bool = False,
        return_attention_scores: bool = False,
        output: AbstractOutput | str | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.embedding_dim = check_integer("embedding_dim", embedding_dim)
        self.target_vocabulary_size = check_integer(
            "target_vocabulary_size", target_vocabulary_size
        )
        self.source_vocabulary_size = check_size(
            "source_vocabulary_size", source_vocabulary_size
        )
        self.tie_embeddings = tie_embeddings
        self.dropout = check_rate("dropout", dropout)
        self.word_dropout = check_rate("word_dropout", word_dropout)
        self.copying, self.lexical = copying, lexical
        checks.check_parts(encoder, decoder, bridge)
        readout = self._add_layers(output)
        self.encoder, self.decoder, self.bridge = encoder, decoder, bridge
        self.scheduled_sampling = scheduled_sampling
        self.return_attention_scores = return_attention_scores
        self.readout = readout  # `output` is a property of Keras' layers
        checks.check_output(self)
        readout.vocabulary_size = self.target_vocabulary_size
        self.source_ids = readout.source_ids
        self.supports_masking = True
        if scheduled_sampling:
            self.seed_generator = keras.random.SeedGenerator()
            self.sampling_probability = self.add_weight(
                name="sampling_probability",
                shape=(),
                initializer="zeros",
                trainable=False,
                autocast=False,
            )

    def _add_layers(self, output) -> AbstractOutput:
        """Add the layers that are not arguments, and return the output.

        Weight files and random seeds depend on the order of these layers.
        """
        tied, flags = self.tie_embeddings, (self.copying, self.lexical)
        check_arguments(output, tied, *flags)
        if tied == "all":
            checks.check_one_vocabulary("tie_embeddings='all'", self)
        size, policy = self.target_vocabulary_size, self.dtype_policy
        sizes = self.source_vocabulary_size, size, self.embedding_dim
        tables = make_embeddings(*sizes, tied == "all", policy)
        self.source_embedding, self.target_embedding = tables
        self.output_layer = None
        if output is None or isinstance(output, str):
            table = self.target_embedding if tied else None
            given = size, table, policy, output
            output, self.output_layer = plain_output(*given)
        self.drop = Dropout(self.dropout, dtype=policy)
        self.drop_words = WordDropout(self.word_dropout, dtype=policy)
        output, self.pointer_generator, self.lexical_translation = (
            extended_output(output, size, *flags, self.dropout, policy)
        )
        return output

    def build(self, input_shape):
        """Create all weights.

        Args:
            input_shape: Shapes of source and target, such as `((None, None),
                (None, None))` for ids, or `((None, None, D), (None, None))`
                for features `(B, Tv, D)`.
        """
        source, target = checks.as_pair(input_shape, "build")
        # Lengths change; height and width of an image may not.
        length = None if len(source) <= 3 else source[1]
        dtype = (
            "int32" if self.source_embedding is not None else self.compute_dtype
        )
        self.source_spec = keras.InputSpec(
            shape=(None, length, *source[2:]), dtype=dtype
        )
        # A symbolic call creates weights, and computes nothing.
        ids = keras.KerasTensor(tuple(target), dtype="int32")
        self.call((keras.KerasTensor(tuple(source), dtype=dtype), ids))

    def get_build_config(self) -> dict | None:
        """Add the quantization of the output layer, for saved models."""
        config = super().get_build_config()
        mode = self.output_layer and self.output_layer.quantization_mode
        return {**config, "quantized": mode} if config and mode else config

    def build_from_config(self, config: dict):
        super().build_from_config(config)
        if config.get("quantized"):
            self.output_layer.quantize(config["quantized"])

    @property
    def pads_freely(self) -> bool:
        return obeys_masks(self.encoder)

    def call(self, inputs, training: bool | None = None):
        source, target = checks.as_pair(inputs, "call")
        encoded = self.encode(source, training)
        if training and self.scheduled_sampling:
            begun = self.begin(source, known=encoded)
            target = feed_guesses(
                functools.partial(self.next_word, prepared=begun.prepared),
                begun.states,
                target,
                self.sampling_probability,
                self.seed_generator,
            )
        attends = self.readout.attends or self.return_attention_scores
        decoded = self._decode(target, encoded, training, attends)
        outputs = self.drop(decoded.outputs, training=training)
        decoded = decoded._replace(outputs=outputs)
        scores, weights = self._score(decoded, source, encoded, training)
        return (scores, weights) if self.return_attention_scores else scores

    def encode(self, source, training: bool | None = None) -> tuple:
        """Encode a source to a memory and the decoder's initial states.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`. A source of length
                0 is read as one position of padding.
            training: Whether to apply dropout.

        Returns:
            Memory `(B, Tv, Dv)`, the list of states for the decoder's cells
            or `None`, and the memory's mask `(B, Tv)` or `None`.
        """
        if source.shape[0] == 0:  # Keras' LSTM needs a row
            row = ops.zeros((1, *ops.shape(source)[1:]), source.dtype)
            encoded = self.encode(row, training)
            return tree.map_structure(
                lambda x: x if x is None else x[:0], encoded
            )
        mask = carried_mask(source)
        if self.source_embedding is not None:
            source = with_a_position(source)
            mask = ops.not_equal(source, 0)
            source = self.embed_source(source, training)
        dropped = self.drop(source, training=training)
        memory, states, mask = encode(self.encoder, dropped, mask, training)
        if self.bridge is not None:
            check_states(self.encoder, states)
            states = self.bridge(states)
        return memory, states or None, mask

    def embed_source(self, source, training: bool | None = False):
        """Embed source ids `(...)` to `(..., E)`.

        With `copying`, ids beyond the vocabulary are embedded as unknown.

        Args:
            source: Ids; `(B, Tv)` in training.
            training: Whether to drop tokens. Defaults to `False`.

        Returns:
            Embedded tokens.
        """
        return self._embed(self.source_embedding, source, training)

    def embed_target(self, target, training: bool | None = False):
        """Embed target ids `(...)` to `(..., E)`, like `embed_source`.

        Args:
            target: Ids; `(B, T)` in training.
            training: As in `embed_source`.

        Returns:
            Embedded tokens.
        """
        return self._embed(self.target_embedding, target, training)

    def _embed(self, layer, ids, training):
        size = self.target_vocabulary_size if self.source_ids else None
        words = embed(layer, ids, size, training)
        if training is False:
            return words
        return self.drop_words(words, ids, training=training)

    def _decode(self, target, encoded, training, attends) -> Decoded:
        """Run the decoder over a known target."""
        memory, states, mask = encoded
        words = self.embed_target(target, training)
        words = self.drop(words, training=training)
        attentions = self.decoder.cell.attentions
        attends = attends and bool(attentions)
        decoded = self.decoder(
            words,
            memory,
            initial_state=states,
            sequence_mask=ops.not_equal(target, 0),
            memory_mask=mask,
            training=training,
            return_attention_scores=attends,
        )
        if not isinstance(decoded, tuple | list):
            return Decoded(decoded, target, words, [])
        weights = attentions.unpack(decoded[1]) if attends else []
        return Decoded(decoded[0], target, words, weights)

    def _score(self, decoded, source, encoded, training):
        """Score the next tokens; return weights in the public form."""
        if not self.readout.built:
            shapes = decoded.outputs.shape, decoded.words.shape
            self.readout.build(*shapes, encoded[0].shape)
        asked = self._source(self.readout, source, encoded, training)

        def score(decoded, asked):
            prepared = self.readout.prepare(asked)
            scores, weights = self.readout.call(decoded, prepared, training)
            # On torch Keras infers no shapes of a result that is `None`.
            return scores, () if weights is None else weights

        if isinstance(decoded.outputs, keras.KerasTensor):
            score = functools.partial(symbolic_result, score)
        scores, weights = score(decoded, asked)
        if isinstance(weights, tuple):
            weights = self.decoder.cell.attentions.pack(decoded.weights)
        return scores, weights

    def _source(self, output, source, encoded, training=False) -> Source:
        """Collect what an output may use of a source."""
        memory, _, mask = encoded
        if self.source_embedding is not None:
            source = with_a_position(source)
        words = None
        if output.reads_words:
            words = self.embed_source(source, training)
            words = self.drop(words, training=training)
        return Source(source, words, memory, mask, self.compiles_each_shape)

    def begin(
        self, source, beams=1, search=None, prefix=None, output=None, known=None
    ) -> Begun:
        """Read a source, once for all steps.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            beams: As in `AbstractModel`.
            search: As in `AbstractModel`.
            prefix: As in `AbstractModel`.
            output: The output to use. Defaults to the output of the model.
            known: The result of `encode`, if already computed.

        Returns:
            A `Begun`.
        """
        encoded = known or self.encode(source, training=False)
        memory, states, mask = encoded
        cell = self.decoder.cell
        output = self.readout if output is None else output
        memory = cell.prepare(memory, mask)
        asked = self._source(output, source, encoded)
        prepared = output.prepare(asked._replace(search=search, prefix=prefix))
        states = cell.initial_state(memory, states, beams=beams)
        # A graph may not see how many beams an output's own state has.
        own = [
            ops.reshape(x, (-1, beams, *ops.shape(x)[2:]))
            for x in output.first_state(prepared, beams)
        ]
        states = [*states, *own]
        ids, prepared = output.ids(prepared), (memory, prepared)
        return Begun(prepared, states, mask, ids)

    def next_word(self, tokens, states, prepared, output=None) -> tuple:
        """Score the possible next tokens.

        Args:
            tokens: As in `AbstractModel`. They may also be `(B,)`, with states
                without beams.
            states: As in `AbstractModel`.
            prepared: As in `AbstractModel`.
            output: As in `begin`.

        Returns:
            As in `AbstractModel`. Attention weights are those of the cell's
            attention layer, or the mean over several attention layers.
        """
        memory, prepared = prepared
        output = self.readout if output is None else output
        cell, count = self.decoder.cell, len(states) - output.state_count
        words = self.embed_target(tokens)  # (B, K, E)
        own, more = states[:count], tuple(states[count:])
        outputs, weights, own = cell.step(words, own, memory, False)
        weights = cell.attentions.unpack(weights)
        decoded = Decoded(outputs, tokens, words, weights)
        scores, aligned, more = output.step(decoded, more, prepared)
        weights = decoded.mean_weights() if aligned is None else aligned
        return output.log_probabilities(scores), [*own, *more], weights

    def log_probabilities(self, scores):
        return self.readout.log_probabilities(scores)

    def attend(self, source, target) -> list:
        """Compute the attention of a known target.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            target: The decoder's input ids `(B, T)`, which begin with the
                start id.

        Returns:
            A list of the weights `(B, T, Tv)` of each attention layer. If the
            output layer has attention weights of its own, the list contains
            these instead. `[]` without attention.
        """
        check_built(self, "attend", BUILD)
        source, target = as_tensors(self, "attend", source, target)
        encoded = self.encode(source, training=False)
        decoded = self._decode(target, encoded, False, True)
        if not self.readout.aligns:
            return decoded.weights
        return [self._score(decoded, source, encoded, False)[1]]

    def _limit(self, shortlist):
        sizes = self.source_vocabulary_size, self.target_vocabulary_size
        limited = ShortlistOutput(self.readout, shortlist, *sizes)
        return WithOutput(self, limited)

    def stream(
        self,
        max_length: int = 100,
        batch_size: int = 1,
        start_id: int = 2,
        end_id: int = 3,
    ):
        """Start to generate targets for sources that arrive in parts.

        Streaming requires a unidirectional encoder, `StateBridge("zeros")`, and
        attention that does not depend on the rest of the source: the alignment
        `Monotonic("hard")` or `LocalMonotonic`, or a `ChunkwiseAttention` whose
        first layer has the alignment `Monotonic("hard")`. `harden` switches a
        trained `Monotonic` to `"hard"`. All streams of a model share compiled
        programs. Use a stream in one thread only.

        Args:
            max_length: Maximum length of a target, in tokens, including the end
                token. Defaults to `100`.
            batch_size: Number of sources to read together. Defaults to `1`.
            start_id: Id of the start token. Defaults to `2`.
            end_id: Id of the end token. Defaults to `3`.

        Returns:
            A `keras_attention.streaming.Stream`. The tokens from `push(chunk)`
            and `end()` together equal those of `generate(whole,
            GreedySearch(max_length))`.

        Raises:
            ValueError: If the model is not built, a number is not positive, an
                id is not in the target vocabulary, or a component of the model
                needs the end of the source.
        """
        check_built(self, "stream", BUILD)
        return begin_stream(self, max_length, batch_size, start_id, end_id)

    def harden(self) -> list[str]:
        """Switch trained monotonic attentions to hard mode, for inference.

        In all attention layers of the decoder, `Monotonic` changes from the
        mode `"parallel"` or `"recursive"` to `"hard"`; trained weights are
        unchanged. The new mode affects calls, `generate`, `stream`,
        translators, exports and saved models. Hard attention has no gradient,
        so train the model first.

        Returns:
            Descriptions of the changes; an empty list if nothing changed.
        """
        changed = [
            f"{layer.name}: {change}"
            for layer in self.decoder.cell.attentions
            for change in layer.harden()
        ]
        if changed:
            self.changes += 1
            self.train_function = None
            self.test_function = self.predict_function = None
        return changed

    @functools.wraps(keras.Model.make_train_function)
    def make_train_function(self, force: bool = False):
        # TensorFlow traces a step twice if its first trace creates variables.
        # Only a RecurrentEncoder is known to need no length.
        any_length = isinstance(self.encoder, RecurrentEncoder)
        if not self.built and self.source_embedding is not None and any_length:
            self.build(((None, None), (None, None)))
        if self.built and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)

    def compute_output_shape(self, input_shape) -> tuple:
        source, target = input_shape
        size = self.readout.size(self.target_vocabulary_size, source[1])
        return (*target[:2], size)

    def compute_output_spec(self, inputs, training: bool | None = None):
        return self.call(inputs, training)

    def get_config(self) -> dict:
        standard = self.output_layer is not None or self.tie_embeddings
        name = self.readout.probabilities
        output = None if name == AbstractOutput.probabilities else name
        if not standard:
            output = keras.saving.serialize_keras_object(self.readout)
        return {**super().get_config(), "output": output}
