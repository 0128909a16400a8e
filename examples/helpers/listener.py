"""The model that reads Morse code: an encoder of one way, and attention.

Training has two parts. First, the encoder alone learns to recognize each
character as early as possible; these positions are known, because the audio is
generated. Then the encoder is frozen. The decoder learns to write characters,
and its attention learns to stop where the encoder begins to recognize a
character.
"""

import keras
import numpy as np
from helpers.ear import END
from helpers.ear import FRAMES
from helpers.ear import NOTHING
from helpers.ear import VOCABULARY_SIZE
from helpers.ear import hear
from helpers.ear import names
from helpers.ear import places
from helpers.ear import to_ids
from helpers.ear import to_text
from helpers.morse import Heard
from keras import ops

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import ChunkwiseAttention
from keras_attention import GreedySearch
from keras_attention import GuidedAlignmentLoss
from keras_attention import LuongGeneral
from keras_attention import Monotonic
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge

BATCH_SIZE = 64


@keras.saving.register_keras_serializable(package="examples")
class Listener(keras.layers.Layer):
    """Reads features one way, and says which character begins at each position.

    Formula:

        z[t] = W LSTM(x)[t] + b,  c[t] = argmax z[t]
        output[t] = 8 one_hot(c[t]) if c[t] is a character != c[t - 1], else 0

    So a character that is named at several positions appears at the first, and
    two equal ones appear twice. No gradient goes through it: `z` is trained
    first. `first_states` and `read_on` let a stream read part by part.

    Args:
        units: Units of the LSTM.
        **kwargs: Keras layer arguments, such as `name`.

    Shapes:
        features `(B, Tv, D)` -> sequence `(B, Tv, VOCABULARY_SIZE)`, and two
        states `(B, units)`.
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = units
        self.lstm = keras.layers.LSTM(
            units, return_sequences=True, return_state=True
        )
        self.names = keras.layers.Dense(VOCABULARY_SIZE)

    def build(self, features_shape):
        self.lstm.build(features_shape)
        self.names.build((*features_shape[:-1], self.units))

    def call(self, features, mask=None):
        states = self.first_states(ops.shape(features)[0])
        outputs, _, (_, *states) = self.read_on(features, mask, states)
        return outputs, *states

    def first_states(self, rows) -> list:
        """Return the states before the source: `c`, `h` and the LSTM's `c`."""
        zeros = ops.zeros((rows, self.units), self.compute_dtype)
        return [ops.full((rows,), NOTHING, "int32"), zeros, zeros]

    def read_on(self, features, mask, states) -> tuple:
        """Read a part, from the states after the parts before."""
        last, *states = states
        outputs, *states = self.lstm(features, states, mask=mask)
        # As `argmax`, which LiteRT lacks for floats.
        _, named = ops.top_k(self.names(outputs), 1)
        named = ops.cast(named[..., 0], "int32")
        both = ops.concatenate([last[:, None], named], axis=1)
        begins = ops.logical_and(both[:, 1:] != both[:, :-1], named > END)
        named = ops.where(begins, named, -1)  # which is no entry
        heard = 8 * ops.one_hot(named, VOCABULARY_SIZE, dtype=outputs.dtype)
        return heard, mask, [both[:, -1], *states]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def chunkwise() -> ChunkwiseAttention:
    """Make an attention that stops where a character is complete."""
    stops = Monotonic(score_bias=-5.0, sigmoid_noise=1.0, strict=True)
    return ChunkwiseAttention(
        LuongGeneral(alignment=stops), BahdanauAttention(32), chunk_size=4
    )


def make_model(units: int, attention: keras.layers.Layer) -> Seq2Seq:
    """Make a model from features to characters, which reads one way."""
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(units // 4), attention, order="luong"
    )
    model = Seq2Seq(
        target_vocabulary_size=VOCABULARY_SIZE,
        embedding_dim=16,
        encoder=Listener(units),
        bridge=StateBridge("zeros", units=units // 4, bidirectional=False),
        decoder=AttentionDecoder(cell),
        return_attention_scores=True,
    )
    model.build(((None, None, FRAMES), (None, None)))
    return model


def optimizer(count: int, epochs: int) -> keras.optimizers.Optimizer:
    """Make Adam, with a learning rate that falls to zero."""
    steps = epochs * -(-count // BATCH_SIZE)
    rate = keras.optimizers.schedules.CosineDecay(0.005, steps)
    return keras.optimizers.Adam(rate, global_clipnorm=1.0)


def naming(encoder: Listener) -> keras.Model:
    """Make a model of the logits `z`, which name a character or nothing."""
    source = keras.Input((None, FRAMES))
    outputs, *_ = encoder.lstm(source)
    return keras.Model(source, encoder.names(outputs))


def name_positions(encoder: Listener, heard: np.ndarray) -> np.ndarray:
    """Name each position of the features of messages, ids `(N, Tv)`."""
    return naming(encoder).predict(heard, verbose=0).argmax(axis=-1)


def train_encoder(encoder: Listener, messages: list[Heard], epochs: int):
    """Train an encoder to name each character where it can be known.

    Positions where there is nothing to name count a tenth.

    Args:
        encoder: The encoder of a model.
        messages: Messages of one length.
        epochs: Number of epochs.
    """
    heard = hear(messages)
    wanted = names(messages, heard.shape[1])
    model = naming(encoder)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer(len(messages), epochs), loss=loss)
    counts = np.where(wanted == NOTHING, 0.1, 1.0)
    model.fit(
        heard, wanted, BATCH_SIZE, epochs, sample_weight=counts, verbose=2
    )


def train(model: Seq2Seq, messages: list[Heard], epochs: int):
    """Train a decoder to write, and to stop where characters begin.

    Args:
        model: The model, whose encoder is trained.
        messages: Messages of one length.
        epochs: Number of epochs.
    """
    heard, ids = hear(messages), to_ids([x.text for x in messages])
    wanted = ids[:, 1:]
    named = name_positions(model.encoder, heard)
    model.encoder.trainable = False
    model.compile(
        optimizer(len(messages), epochs),
        loss=[SequenceCrossentropy(), GuidedAlignmentLoss()],
    )
    targets = wanted, places(named, wanted)
    inputs = heard, ids[:, :-1]
    model.fit(inputs, targets, BATCH_SIZE, epochs, verbose=2)


def read(model: Seq2Seq, messages: list[Heard]) -> list[str]:
    """Read messages of one length, at most one character a position."""
    heard = hear(messages)
    search = GreedySearch(max_length=heard.shape[1])
    found = model.generate(heard, search, return_attention_scores=False)
    return [to_text(row) for row in ops.convert_to_numpy(found.tokens)[:, 0]]
