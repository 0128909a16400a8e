"""What all outputs of models share, and what they get."""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_attention.checks import missing_method
from keras_attention.checks import refuse_to_stream
from keras_attention.ops import entmax15
from keras_attention.ops import sparsemax
from keras_attention.ops import widen

SPARSE = {"sparsemax": sparsemax, "entmax15": entmax15}


class Source(NamedTuple):
    """A source, as an output prepares it.

    Attributes:
        ids: Ids `(B, Tv)`, or features `(B, Tv, D)`.
        words: Embedded words `(B, Tv, E)`, in training with dropout; `None`
            unless the output `reads_words`.
        memory: What the encoder returned, `(B, Tv', Dv)`.
        mask: Boolean `(B, Tv')`, `True` at real positions, or `None`.
        fixed_shapes: Whether shapes may not depend on values, as under XLA.
        search: The search that the words are scored for, or `None`.
        prefix: Ids `(B, P)` that its texts have to have, such as those that
            they begin with, or `None`.
    """

    ids: Any
    words: Any
    memory: Any
    mask: Any = None
    fixed_shapes: bool = False
    search: Any = None
    prefix: Any = None


class Decoded(NamedTuple):
    """What a decoder says of `T` steps, or of one step of `K` beams.

    Attributes:
        outputs: The decoder's outputs, `(B, T, D)`; in training with dropout.
        tokens: Its input ids, `(B, T)`.
        words: The same embedded, `(B, T, E)`.
        weights: List of the weights `(B, T, Tv)` of each attention. It is
            empty where there is none, and in training if the output does not
            `attend`.
    """

    outputs: Any
    tokens: Any
    words: Any
    weights: list

    def mean_weights(self):
        """Return the mean `(B, T, Tv)` of all weights; `None` without any."""
        if not self.weights:
            return None
        return sum(self.weights) / len(self.weights)


class AbstractOutput(keras.layers.Layer):
    """Scores every word that may come next, as the last part of a model.

    Formula:

        scores[t] = call(decoded[t], prepare(source))
        p(y_t | y_1 ... y_{t-1}) = softmax(scores[t])

    or, where `probabilities` says so, `sparsemax` or `entmax15` in place of
    `softmax`: most words then have the probability 0, and a search never
    writes them. `EntmaxLoss` trains them.

    A model calls `prepare` once for each source, `call` for all steps of a
    known target, and `step` for one step of a search. A search carries states
    of an output behind those of the decoder, and its beams with them. An
    output without states needs `call` alone.

    What `prepare` returns is known to be the same at all steps. So it is
    taken as it is: a cast or a new shape in `step` is computed at every step.

    A subclass writes `call`, and where it needs them the other methods and
    `get_config`. It is registered with
    `keras.saving.register_keras_serializable`, and is the argument `output`
    of `Seq2Seq`, which calls these methods by name. Weights are made in
    `build`, or by layers that `call` calls.

    Args:
        **kwargs: Keras layer arguments, such as `name` and `dtype`.

    Attributes:
        attends: Whether it needs the weights of the decoder's attention.
        aligns: Whether `call` returns weights of its own.
        reads_words: Whether it needs the embedded words of the source.
        source_ids: Whether an id `V + j`, beyond the vocabulary, is the word
            at position `j` of the source.
        streams: Whether it scores words without the end of the source.
        needs_end: What it does with that end else, and the way out.
        state_count: Number of states.
        probabilities: What makes probabilities of scores: `"softmax"`,
            `"sparsemax"` or `"entmax15"`.
        vocabulary_size: Number `V` of words, which a model sets.

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
        "If it does not, write `streams = True` in its class.",
    )
    state_count: int = 0
    probabilities: str = "softmax"
    vocabulary_size: int | None = None

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    @property
    def argument(self) -> str:
        """What a user has written to get it, for errors."""
        return f"output={type(self).__name__}"

    def build(self, outputs_shape, words_shape, memory_shape):
        """Create the weights; none by default.

        Args:
            outputs_shape: Shape of the decoder's outputs, `(B, T, D)`.
            words_shape: Shape of its embedded inputs, `(B, T, E)`.
            memory_shape: Shape of the memory, `(B, Tv, Dv)`.
        """

    def prepare(self, source: Source):
        """Compute what is the same at all steps.

        Args:
            source: A `Source`.

        Returns:
            A structure of tensors, with the batch on axis 0. Defaults to
            none, `()`.
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
        """Score the next words of all steps of a known target.

        Args:
            decoded: A `Decoded` of `T` steps.
            prepared: What `prepare` returned.
            training: Whether to apply dropout.

        Returns:
            Scores `(B, T, V)`, and weights `(B, T, Tv)` of its own, or `None`
            if those of the decoder hold.
        """
        raise missing_method(self.call)

    def step(self, decoded: Decoded, state, prepared) -> tuple:
        """Score the next words of one step of a search.

        Args:
            decoded: A `Decoded` of `K` beams.
            state: The states of the step before, `(B, K, ...)`.
            prepared: What `prepare` returned.

        Returns:
            Scores and weights as of `call`, with `K` in place of `T`; a score
            may be `-inf`. And the states, of the same shapes as before.
        """
        return *self.call(decoded, prepared, training=False), state

    def ids(self, prepared):
        """Return the ids `(B, S)` that scores are of; `None` for all of them.

        Args:
            prepared: What `prepare` returned.
        """
        return None

    def size(self, vocabulary_size: int, source_length: int | None):
        """Return the number of scores of a step, `None` if it is unknown.

        Args:
            vocabulary_size: Number `V` of words.
            source_length: Length `Tv` of the source, if it is known.
        """
        return vocabulary_size

    def log_probabilities(self, scores):
        """Compute `log p`, in float32 or wider; `-inf` where `p` is 0.

        Args:
            scores: What `call` or `step` returned, `(..., V)`.
        """
        scores = widen(scores)
        if self.probabilities == "softmax":
            return ops.log_softmax(scores, axis=-1)
        return ops.log(SPARSE[self.probabilities](scores))

    def refuse_list(self) -> str | None:
        """Return what keeps a `Shortlist` from limiting it; `None` if nothing.

        What can be limited scores words by `features` times `rows`.
        """
        return self.argument

    def check_stream(self):
        """Raise a `ValueError` unless it needs no end of the source."""
        if not self.streams:
            refuse_to_stream(self.argument, *self.needs_end)
