"""A complete encoder-decoder model, from ids to ids."""

import functools
import inspect

import keras
from keras import ops

from keras_attention.checks import check_built
from keras_attention.decoder import AttentionDecoder
from keras_attention.layers import call_masked
from keras_attention.layers import carried_mask
from keras_attention.models.building import build_for_training
from keras_attention.models.generation import search_compiled
from keras_attention.models.next_word import next_word
from keras_attention.models.next_word import search_words
from keras_attention.models.scheduled_sampling import feed_guesses
from keras_attention.models.seq2seq_checks import as_pair
from keras_attention.models.seq2seq_checks import check_arrays
from keras_attention.models.seq2seq_checks import check_generation
from keras_attention.models.seq2seq_checks import check_parts
from keras_attention.models.seq2seq_checks import check_search
from keras_attention.models.seq2seq_checks import check_states
from keras_attention.models.seq2seq_checks import with_nan_check
from keras_attention.models.shortlisted import check_shortlist
from keras_attention.models.streaming import BUILD
from keras_attention.models.streaming import AbstractStreamingModel
from keras_attention.ops import as_written
from keras_attention.ops import is_traced
from keras_attention.search import AbstractSearch
from keras_attention.search import Generation
from keras_attention.search import GreedySearch
from keras_attention.search import Shortlist

PARTS = ("encoder", "decoder", "bridge")


@keras.saving.register_keras_serializable(package="keras_attention")
class Seq2Seq(AbstractStreamingModel):
    """Encodes a source, decodes a target, and scores each next word.

    Formula:

        logits[t] = output(decoder(embed(target[:t]), encoder(embed(source))))

    It trains by teacher forcing, on
    `((source, target[:, :-1]), target[:, 1:])`, and generates with the same
    decoder cell. Id 0 is padding on both sides, and is masked everywhere.

    Args:
        target_vocabulary_size: Number of target ids.
        embedding_dim: Size of the embeddings.
        encoder: A Keras layer that returns `sequence, *states`, such as
            `RecurrentEncoder`, or a `Bidirectional(LSTM(...))` that returns
            both. If it changes the length, its output must carry a mask. What
            one that reads padding gives, such as a `Conv1D`, depends on the
            longest source of the batch.
        decoder: An `AttentionDecoder` that returns sequences.
        source_vocabulary_size: Number of source ids. `None` if the source
            consists of features, such as speech, which are not embedded.
            Defaults to `None`.
        bridge: A layer from the encoder's states to the decoder's, such as
            `StateBridge`. `None` passes the states unchanged. Defaults to
            `None`.
        tie_embeddings: Whether the output layer is the target embedding,
            transposed, without a bias. `"all"`: the source embedding is the
            same as well, which needs one vocabulary. Defaults to `False`.
        dropout: Rate at which embeddings and the output layer's inputs are
            dropped in training. Defaults to `0.0`.
        word_dropout: Rate at which source words and the decoder's input words
            are dropped in training, all occurrences of a word in a sequence
            together. Their embeddings are 0, the others are divided by `1 -
            word_dropout`. Defaults to `0.0`.
        copying: Whether source words can be copied, also those that are not
            in the vocabulary; see `PointerGenerator`. Source and target then
            share one vocabulary. Defaults to `False`.
        lexical: Whether the words attended to are also translated one by one,
            by their embeddings alone; see `LexicalTranslation`. The encoder
            then keeps the length of the source. Defaults to `False`.
        scheduled_sampling: Whether training replaces input words by the
            model's own predictions, with the probability
            `sampling_probability`, a weight that is 0 until the callback
            `ScheduledSampling` sets it. Defaults to `False`.
        return_attention_scores: Whether a call returns the weights as well,
            for a plot or a loss. Defaults to `False`.
        **kwargs: Keras model arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Pair of the source, ids `(B, Tv)` or features `(B, Tv, D)`,
            and the decoder's input ids `(B, T)`.
        training: Whether to apply dropout and scheduled sampling.

    Returns:
        logits: `(B, T, V)`; with `copying` log probabilities `(B, T, V + Tv)`.
        weights: `(B, T, Tv)`, on request; a list of them if the cell has
            several attentions.

    Raises:
        ValueError: If `decoder` is no `AttentionDecoder` that returns
            sequences, if `copying`, `lexical` or `return_attention_scores` is
            set and it has no attention, if `copying` is set or all embeddings
            are tied and the vocabularies differ, if `lexical` is set and the
            source is not embedded, or if embeddings are tied and their size
            is not that of the decoder's outputs.

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
        **kwargs,
    ):
        super().__init__(
            target_vocabulary_size=target_vocabulary_size,
            embedding_dim=embedding_dim,
            source_vocabulary_size=source_vocabulary_size,
            tie_embeddings=tie_embeddings,
            dropout=dropout,
            word_dropout=word_dropout,
            copying=copying,
            lexical=lexical,
            **kwargs,
        )
        check_parts(encoder, decoder, bridge)
        self.encoder = encoder
        self.decoder = decoder
        self.bridge = bridge
        self.scheduled_sampling = scheduled_sampling
        self.return_attention_scores = return_attention_scores
        self._check_attention()
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

    def _check_attention(self):
        for name in ("copying", "lexical", "return_attention_scores"):
            if getattr(self, name) and not self.decoder.cell.attentions:
                raise ValueError(
                    f"`{name}` needs a decoder that attends to its source. "
                    f"Received: {name}=True with attention=None."
                )

    def build(self, input_shape):
        """Create all weights.

        Args:
            input_shape: Shapes of source and target, such as `((None, None),
                (None, None))` for ids, or `((None, None, D), (None, None))`
                for features `(B, Tv, D)`.
        """
        source, target = as_pair(input_shape, "build")
        # Lengths change; height and width of an image may not.
        changes = len(source) <= 3
        self._source_axes = (None if changes else source[1], *source[2:])
        reads_ids = self.source_embedding is not None
        dtype = "int32" if reads_ids else self.compute_dtype
        # A symbolic call creates weights, and computes nothing.
        self.call(
            (
                keras.KerasTensor(tuple(source), dtype=dtype),
                keras.KerasTensor(tuple(target), dtype="int32"),
            )
        )

    def call(self, inputs, training: bool | None = None):
        source, target = as_pair(inputs, "call")
        encoded = self.encode(source, training)
        real = ops.not_equal(target, 0)
        if training and self.scheduled_sampling:
            target = feed_guesses(
                *next_word(self, source, *encoded),
                target,
                self.sampling_probability,
                self.seed_generator,
            )
        attends = self.copying or self.lexical or self.return_attention_scores
        outputs, words, weights = self._decode(
            target, encoded, real, training, attends
        )
        mix = None
        if self.copying:
            mix = functools.partial(self.pointer_generator, source=source)
        outputs = self.drop(outputs, training=training)
        found = outputs, words, weights, mix, self.lexicon(source, training)
        scores = self.score_words(*found, training)
        return (scores, weights) if self.return_attention_scores else scores

    def _decode(self, target, encoded, real, training, attends):
        """Decode known words; return outputs, embedded words and weights."""
        memory, states, mask = encoded
        words = self.embed_target(target, training)
        words = self.drop(words, training=training)
        found = self.decoder(
            words,
            memory,
            initial_state=states,
            sequence_mask=real,
            memory_mask=mask,
            training=training,
            return_attention_scores=attends,
        )
        found = found if isinstance(found, tuple | list) else [found]
        return found[0], words, found[1] if attends else None

    def attend(self, source, target, real=None) -> list:
        """Compute the attention of a known target.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            target: The decoder's input ids `(B, T)`, which begin with the
                start id.
            real: Boolean `(B, T)`, `True` at real steps. Defaults to
                `target != 0`.

        Returns:
            A list of the weights `(B, T, Tv)` of each attention.
        """
        check_built(self, "attend", BUILD)
        target = ops.convert_to_tensor(target)
        real = ops.not_equal(target, 0) if real is None else real
        encoded = self.encode(ops.convert_to_tensor(source), training=False)
        *_, weights = self._decode(target, encoded, real, False, True)
        return weights if isinstance(weights, list) else [weights]

    def encode(self, source, training: bool | None = None) -> tuple:
        """Encode a source to a memory and the decoder's initial states.

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
            source = self.embed_source(source, training)
        dropped = self.drop(source, training=training)
        found = call_masked(self.encoder, dropped, mask, training)
        memory, *states = found if isinstance(found, tuple | list) else [found]
        if self.bridge is not None:
            check_states(self.encoder, states)
            states = self.bridge(states)
        carried = carried_mask(memory)
        return memory, states or None, mask if carried is None else carried

    def generate(
        self,
        source,
        search: AbstractSearch | None = None,
        prefix=None,
        return_attention_scores: bool = True,
        shortlist: Shortlist | None = None,
    ) -> Generation:
        """Generate a target for every source.

        Neither padding (id 0) nor the search's start id is ever generated.

        Outside of a graph it is compiled, once for each search. On JAX, and
        on TensorFlow after `compile(jit_compile=True)`, XLA compiles once per
        shape. So batches have a few sizes. Sources of ids have, too, if the
        encoder consists of layers of Keras or of this package that obey masks,
        such as recurrent ones. No gradient flows through it.

        Args:
            source: Ids `(B, Tv)`, or features `(B, Tv, D)`.
            search: A search strategy. Defaults to `GreedySearch()`.
            prefix: Ids `(B, P)` that the targets of each row begin with,
                padded with 0, or `None`. In a graph, where ids cannot be
                checked, a row with an id that is never generated gets no
                tokens, and a single row is taken for all if the batch size is
                not known. Defaults to `None`.
            return_attention_scores: Whether to keep the weights of all
                steps, the largest part of what is found. Defaults to `True`.
            shortlist: A `Shortlist`, by which only the words come that can
                translate a row's source; the scores are of these. The search
                then is an `AbstractSearch`. It gets numbers in the row's list
                in place of ids, `S` of them in place of `V`; only the ids in
                the options of all searches are the same. In a function that
                you compile by XLA on TensorFlow, set `jit_compile=True` in
                the model's `compile` too. Defaults to `None`, all words.

        Returns:
            A `Generation`. Its weights are those of the cell's attention, or
            their mean if there are several; `None` if not asked for.

        Raises:
            ValueError: If the model is not built, `search` is no search,
                `source` or `prefix` has another number of axes, `prefix` has
                not as many rows, or, outside of a graph, an id is not in the
                vocabulary or `prefix` holds the start id. With a shortlist,
                if the model copies words, reads features, or has not the ids
                of its table.
        """
        check_built(self, "generate", BUILD)
        search = GreedySearch() if search is None else search
        check_search(search)
        source = ops.convert_to_tensor(source)
        prefix = check_generation(self, source, search, prefix)
        check_shortlist(self, search, shortlist)
        empty = source.shape[0] == 0
        if empty:  # no reshape infers a size of a tensor without elements
            shape = (1, *ops.shape(source)[1:])
            source, prefix = ops.ones(shape, source.dtype), None
        run = search_compiled
        # Compiling would lose a mask.
        if is_traced(source) or carried_mask(source) is not None:
            run = as_written(search_words)
        attends = return_attention_scores
        found = run(self, source, search, prefix, attends, shortlist)
        if not empty:
            return found
        return Generation(*[None if x is None else x[:0] for x in found])

    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        given = inspect.signature(super().fit).bind(*args, **kwargs).arguments
        check_arrays(self, given.get("x"), given.get("y"))
        callbacks = with_nan_check(given.get("callbacks"))
        return super().fit(**{**given, "callbacks": callbacks})

    @functools.wraps(keras.Model.make_train_function)
    def make_train_function(self, force: bool = False):
        build_for_training(self)
        return super().make_train_function(force)

    @functools.wraps(keras.Model.export)
    def export(self, filepath, *args, **kwargs):
        given = inspect.signature(super().export).bind(
            filepath, *args, **kwargs
        )
        if given.arguments.get("input_signature") is None:
            given.arguments["input_signature"] = [self._input_signature()]
        return super().export(*given.args, **given.kwargs)

    def _input_signature(self):
        """Describe inputs of any batch size and any length, for exports."""
        ids = keras.InputSpec(shape=(None, None), dtype="int32")
        if self.source_embedding is not None:
            return ids, ids
        shape = (None, *self._source_axes)
        return keras.InputSpec(shape=shape, dtype=self.compute_dtype), ids

    def compute_output_shape(self, input_shape) -> tuple:
        (source, target), size = input_shape, self.target_vocabulary_size
        if self.copying:
            size = None if source[1] is None else size + source[1]
        return (*target[:2], size)

    def compute_output_spec(self, inputs, training: bool | None = None):
        return self.call(inputs, training)

    def compute_mask(self, inputs, previous_mask=None):
        return None  # the logits carry no mask of the inputs

    def get_config(self) -> dict:
        serialize = keras.saving.serialize_keras_object
        own = {
            "scheduled_sampling": self.scheduled_sampling,
            "return_attention_scores": self.return_attention_scores,
        }
        parts = {name: serialize(getattr(self, name)) for name in PARTS}
        return {**super().get_config(), **own, **parts}

    @classmethod
    def from_config(cls, config: dict) -> "Seq2Seq":
        restore = keras.saving.deserialize_keras_object
        parts = {name: restore(config[name]) for name in PARTS}
        return cls(**{**config, **parts})
