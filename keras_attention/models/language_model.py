"""A language model, which predicts the next token without a source."""

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.checks import check_rate
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import AttentionDecoderCell
from keras_attention.layers import AbstractConfigured
from keras_attention.layers import Dropout
from keras_attention.layers.embeddings import embed
from keras_attention.layers.embeddings import make_embeddings
from keras_attention.models.base import AbstractModel
from keras_attention.models.base import Begun
from keras_attention.ops import widen
from keras_attention.outputs import Decoded
from keras_attention.outputs import plain_output


@keras.saving.register_keras_serializable(package="keras_attention")
class LanguageModel(AbstractConfigured, AbstractModel):
    """Scores each next token of a sequence given the tokens before it.

    Formula:

        logits[t] = output(cells(embed(target[:t])))

    Train the model on `(target[:, :-1], target[:, 1:])`. Training and
    generation use the same cells. Id 0 is padding, and is masked everywhere.

    The model has no source. However, `generate`, `score` and a `Translator`
    require sources, which are ids of the same vocabulary. The model uses only
    their number: `np.zeros((8, 1))` requests 8 sequences. To determine how each
    sequence begins, pass a prefix.

    Args:
        vocabulary_size: Number of token ids.
        embedding_dim: Size of the embeddings.
        cell: A Keras RNN cell, or a list of them (stacked, bottom first).
        tie_embeddings: Whether the output layer is the transposed embedding,
            without a bias. This requires a top cell with `embedding_dim` units.
            Defaults to `False`.
        dropout: Rate at which embeddings and the output layer's inputs are
            dropped in training. Defaults to `0.0`.
        **kwargs: Keras model arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Ids `(B, T)` that begin with the start id; or a pair of a
            source, which is ignored, and these ids.
        training: Whether to apply dropout.

    Returns:
        Logits `(B, T, V)`.

    Raises:
        ValueError: If a number is invalid, if `cell` is not an RNN cell, or if
            embeddings are tied and their size is not that of the top cell.

    Example:

    >>> model = LanguageModel(30, 16, GRUCell(32))
    >>> model.compile("adam", loss=SequenceCrossentropy())
    >>> target = np.array([[2, 7, 8, 3], [2, 5, 3, 0]])
    >>> _ = model.fit(target[:, :-1], target[:, 1:], verbose=0)
    >>> search = Sampling(seed=1, max_length=6)
    >>> texts = model.generate(np.zeros((5, 1), "int32"), search).tokens
    >>> tuple(texts.shape)
    (5, 1, 6)
    """

    pads_freely = True

    made = "embedding", "output_layer"

    def __init__(
        self,
        vocabulary_size: int,
        embedding_dim: int,
        cell: keras.layers.Layer | list[keras.layers.Layer],
        tie_embeddings: bool = False,
        dropout: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = check_integer("vocabulary_size", vocabulary_size)
        self.source_vocabulary_size = self.vocabulary_size  # is not read
        self.target_vocabulary_size = self.vocabulary_size
        self.embedding_dim = check_integer("embedding_dim", embedding_dim)
        self.tie_embeddings = tie_embeddings
        self.dropout = check_rate("dropout", dropout)
        policy = self.dtype_policy
        _, self.embedding = make_embeddings(
            None, self.vocabulary_size, self.embedding_dim, False, policy
        )
        cell = AttentionDecoderCell(cell, None, dtype=policy)
        self.decoder = AttentionDecoder(cell, dtype=policy)
        table = self.embedding if tie_embeddings else None
        self.readout, self.output_layer = plain_output(
            self.vocabulary_size, table, policy
        )
        self.drop = Dropout(self.dropout, dtype=policy)
        self.supports_masking = True

    def build(self, input_shape):
        """Create all weights.

        Args:
            input_shape: Shape of the ids, such as `(None, None)`, or shapes of
                a pair of source and ids.
        """
        shape = _behind_source(input_shape)
        self.call(keras.KerasTensor(tuple(shape), dtype="int32"))

    def call(self, inputs, training: bool | None = None):
        ids = _behind_source(inputs)
        words = embed(self.embedding, ids, None, training)
        words = self.drop(words, training=training)
        outputs = self.decoder(
            words,
            sequence_mask=ops.not_equal(ids, 0),
            training=training,
        )
        outputs = self.drop(outputs, training=training)
        decoded = Decoded(outputs, ids, words, [])
        return self.readout.call(decoded, (), training)[0]

    def begin(self, source, beams=1, search=None, prefix=None) -> Begun:
        rows = ops.shape(source)[0]
        return Begun((), self.decoder.cell.first_states([], rows, beams=beams))

    def next_word(self, tokens, states, prepared) -> tuple:
        words = embed(self.embedding, tokens, None, False)
        outputs, _, states = self.decoder.cell.step(words, states)
        decoded = Decoded(outputs, tokens, words, [])
        scores, *_ = self.readout.step(decoded, (), ())
        return ops.log_softmax(widen(scores), axis=-1), states, None

    def attend(self, source, target) -> list:
        return []

    def compute_output_shape(self, input_shape) -> tuple:
        return (*_behind_source(input_shape), self.vocabulary_size)

    def get_config(self) -> dict:
        cell = keras.saving.serialize_keras_object(self.decoder.cell.cell)
        return {**super().get_config(), "cell": cell}


def _behind_source(inputs):
    """Return ids, or their shape, from ids or a pair of source and ids."""
    is_pair = isinstance(inputs, tuple | list) and len(inputs) == 2
    is_shape = is_pair and any(isinstance(x, int | None) for x in inputs)
    return inputs[1] if is_pair and not is_shape else inputs
