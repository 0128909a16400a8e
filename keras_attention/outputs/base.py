"""The base of all outputs of models, and their inputs."""

from typing import Any
from typing import NamedTuple

import keras

from keras_attention.backend import ops
from keras_attention.checks import missing_method
from keras_attention.checks import refuse_to_stream
from keras_attention.ops import entmax15
from keras_attention.ops import sparsemax
from keras_attention.ops import widen

SPARSE = {"sparsemax": sparsemax, "entmax15": entmax15}


class Source(NamedTuple):
    """The source that an output prepares.

    Attributes:
        ids: Ids `(B, Tv)`, or features `(B, Tv, D)`.
        words: Embedded source tokens `(B, Tv, E)`, with dropout in training;
            `None` unless the output sets `reads_words`.
        memory: Encoder outputs, `(B, Tv', Dv)`.
        mask: Boolean `(B, Tv')`, `True` at valid positions, or `None`.
        fixed_shapes: Whether shapes must not depend on values, as under XLA.
        search: The search that requests the scores, or `None`.
        prefix: Ids `(B, P)` that its hypotheses must contain, such as those of
            a prefix, or `None`.
    """

    ids: Any
    words: Any
    memory: Any
    mask: Any = None
    fixed_shapes: bool = False
    search: Any = None
    prefix: Any = None


class Decoded(NamedTuple):
    """The results of a decoder for `T` steps, or for one step of `K` beams.

    Attributes:
        outputs: The decoder's outputs, `(B, T, D)`, with dropout in training.
        tokens: Input ids of the decoder, `(B, T)`.
        words: Embeddings of these ids, `(B, T, E)`.
        weights: List of the weights `(B, T, Tv)` of each attention. It is empty
            without attention, and in training if `attends` is `False`.
    """

    outputs: Any
    tokens: Any
    words: Any
    weights: list

    def mean_weights(self):
        """Return the mean `(B, T, Tv)` of all weights, or `None`."""
        if not self.weights:
            return None
        first, *more = self.weights
        return sum(more, first) / len(self.weights) if more else first


class AbstractOutput(keras.layers.Layer):
    """Scores every possible next token, as the last component of a model.

    Formula:

        scores[t] = call(decoded[t], prepare(source))
        p(y_t | y_1 ... y_{t-1}) = softmax(scores[t])

    If `probabilities` is `"sparsemax"` or `"entmax15"`, that function replaces
    `softmax`. Most tokens then have the probability 0, and a search never
    generates them. Train such models with `EntmaxLoss`.

    A model calls `prepare` once for each source, `call` for all steps of a
    known target, and `step` for one step of a search. For each beam, a search
    passes the states of the output from step to step, after the states of the
    decoder. An output without states needs only `call`.

    The result of `prepare` is passed unchanged to all steps. Cast and reshape
    it in `prepare`, because the operations of `step` are computed at every
    step.

    A subclass defines `call` and, if it needs them, the other methods and
    `get_config`. Register it with `keras.saving.register_keras_serializable`,
    and pass it as the argument `output` of `Seq2Seq`, which calls these methods
    by name. Create weights in `build`, or in layers that `call` uses.

    Args:
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Attributes:
        attends: Whether the output needs the weights of the decoder's
            attention.
        aligns: Whether `call` returns attention weights of its own.
        reads_words: Whether the output needs the embedded source tokens.
        source_ids: Whether the output scores ids `V + j`, which stand for the
            source token at position `j`.
        streams: Whether the output can score tokens before the source has
            ended.
        needs_end: If `streams` is `False`, text for an error: why the output
            needs the end of the source, and an alternative.
        state_count: Number of states.
        probabilities: Function that turns scores into probabilities:
            `"softmax"`, `"sparsemax"` or `"entmax15"`.
        vocabulary_size: Vocabulary size `V`, which the model sets.

    Example:

    >>> class Bilinear(AbstractOutput):
    ...     def build(self, outputs_shape, words_shape, memory_shape):
    ...         shape = outputs_shape[-1], words_shape[-1], 30
    ...         self.kernel = self.add_weight(shape=shape)
    ...
    ...     def call(self, decoded, prepared, training=None):
    ...         pair = decoded.outputs, decoded.words
    ...         return ops.einsum("btd,bte,dev->btv", *pair, self.kernel), None
    >>> cell = AttentionDecoderCell(GRUCell(16), BahdanauAttention(16))
    >>> model = Seq2Seq(
    ...     source_vocabulary_size=20,
    ...     target_vocabulary_size=30,
    ...     embedding_dim=4,
    ...     encoder=RecurrentEncoder(8, cell="gru"),
    ...     bridge=StateBridge(),
    ...     decoder=AttentionDecoder(cell),
    ...     output=Bilinear(),
    ... )
    >>> source, target = np.array([[2, 7, 8, 3]]), np.array([[2, 9, 5]])
    >>> tuple(model((source, target)).shape)
    (1, 3, 30)
    """

    attends: bool = False
    aligns: bool = False
    reads_words: bool = False
    source_ids: bool = False
    streams: bool = False
    needs_end: tuple[str, str] = (
        "may read the whole source",
        "If it does not, set `streams = True` in its class.",
    )
    state_count: int = 0
    probabilities: str = "softmax"
    vocabulary_size: int | None = None

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    @property
    def argument(self) -> str:
        """The argument of the model that selects this output, for errors."""
        return f"output={type(self).__name__}"

    def build(self, outputs_shape, words_shape, memory_shape):
        """Create the weights; none by default.

        Args:
            outputs_shape: Shape of the decoder's outputs, `(B, T, D)`.
            words_shape: Shape of the decoder's embedded inputs, `(B, T, E)`.
            memory_shape: Shape of the memory, `(B, Tv, Dv)`.
        """

    def prepare(self, source: Source):
        """Compute what is the same at all steps.

        Args:
            source: A `Source`.

        Returns:
            A structure of tensors, with the batch on axis 0. Defaults to `()`.
        """
        return ()

    def first_state(self, prepared, beams: int) -> tuple:
        """Return the states before the first step of a search.

        Args:
            prepared: What `prepare` returned.
            beams: The number `K` of beams.

        Returns:
            A tuple of `state_count` tensors `(B, K, ...)`.
        """
        return ()

    def call(self, decoded: Decoded, prepared, training: bool | None = None):
        """Score the next tokens for all steps of a known target.

        Args:
            decoded: A `Decoded` of `T` steps.
            prepared: What `prepare` returned.
            training: Whether to apply dropout.

        Returns:
            Scores `(B, T, V)`, and the output's own attention weights
            `(B, T, Tv)`, or `None` to use those of the decoder.
        """
        raise missing_method(self.call)

    def step(self, decoded: Decoded, state, prepared) -> tuple:
        """Score the next tokens for one step of a search.

        Args:
            decoded: A `Decoded` of `K` beams.
            state: The states of the previous step, `(B, K, ...)`.
            prepared: What `prepare` returned.

        Returns:
            Scores and weights as in `call`, with `K` in place of `T`, and the
            next states, with the shapes of `state`. A score may be `-inf`.
        """
        return *self.call(decoded, prepared, training=False), state

    def ids(self, prepared):
        """Return the ids `(B, S)` that are scored, or `None` for all ids.

        Args:
            prepared: What `prepare` returned.
        """
        return None

    def size(self, vocabulary_size: int, source_length: int | None):
        """Return the number of scores of a step, or `None` if unknown.

        Args:
            vocabulary_size: Number `V` of target ids.
            source_length: Length `Tv` of the source, or `None`.
        """
        return vocabulary_size

    def log_probabilities(self, scores):
        """Compute `log p`, in float32 or wider; `-inf` where `p` is 0.

        Args:
            scores: Scores from `call` or `step`, `(..., V)`.
        """
        scores = widen(scores)
        if self.probabilities == "softmax":
            return ops.log_softmax(scores, axis=-1)
        return ops.log(SPARSE[self.probabilities](scores))

    def refuse_list(self) -> str | None:
        """Return why a `Shortlist` cannot limit this output, or `None`.

        A shortlist requires that scores are the product of `features` and
        `rows`.
        """
        return self.argument

    def check_stream(self):
        """Raise a `ValueError` if the output needs the end of the source."""
        if not self.streams:
            refuse_to_stream(self.argument, *self.needs_end)
