"""The model that reads Morse code: an encoder of one way, and attention.

Training has two parts. The encoder alone first learns to name each character
at the position where it is complete. Then it stays as it is, and the decoder
learns to write, and its attention to stop there. Both use what is known because
the audio is made: where characters end.
"""

import keras
import numpy as np
from ear import FRAMES
from ear import HANDS
from ear import VOCABULARY_SIZE
from ear import hear
from ear import links
from ear import to_ids
from ear import to_text
from keras import ops
from morse import Heard

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
SOONER = 1.5  # added to the scores' bias; chosen on messages of no test
NOTHING = 1  # the id of positions where no character is complete


@keras.saving.register_keras_serializable(package="examples")
class Listener(keras.layers.Layer):
    """Reads features one way, and names what is complete at each position.

    The names are logarithms of probabilities of all characters, and of nothing,
    shifted and scaled to be from 0 to 4.6. The clocks are passed on.
    `first_states` and `read_on` let a stream read part by part.

    Args:
        units: Units of the LSTM.
        **kwargs: Keras layer arguments, such as `name`.

    Shapes:
        features `(B, Tv, D)` -> sequence `(B, Tv, VOCABULARY_SIZE + HANDS)`,
        and two states `(B, units)`.
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.lstm = keras.layers.LSTM(
            units, return_sequences=True, return_state=True
        )
        self.names = keras.layers.Dense(VOCABULARY_SIZE, activation="softmax")

    def build(self, features_shape):
        self.lstm.build((*features_shape[:-1], FRAMES))
        self.names.build((*features_shape[:-1], self.units))

    def call(self, features, mask=None, initial_state=None):
        heard, clocks = features[..., :FRAMES], features[..., FRAMES:]
        outputs, *states = self.lstm(heard, initial_state, mask=mask)
        names = ops.log1p(1e4 * self.names(outputs)) / 2
        return ops.concatenate([names, clocks], axis=-1), *states

    def first_states(self, rows) -> list:
        """Return the states before the source, `(B, units)` each."""
        return [ops.zeros((rows, self.units), self.compute_dtype)] * 2

    def read_on(self, features, mask, states) -> tuple:
        """Read a part, from the states after the parts before."""
        outputs, *states = self(features, mask, states)
        return outputs, mask, states

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def chunkwise() -> ChunkwiseAttention:
    """Make an attention that stops where a character is complete."""
    stops = Monotonic(score_bias=-2.0, sigmoid_noise=1.0)
    return ChunkwiseAttention(
        LuongGeneral(alignment=stops), BahdanauAttention(32), chunk_size=4
    )


def make_model(units: int, attention: keras.layers.Layer) -> Seq2Seq:
    """Make a model from features to characters, which reads one way."""
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(units // 2), attention, order="luong"
    )
    model = Seq2Seq(
        target_vocabulary_size=VOCABULARY_SIZE,
        embedding_dim=16,
        encoder=Listener(units),
        bridge=StateBridge("zeros", units=units // 2, bidirectional=False),
        decoder=AttentionDecoder(cell),
        return_attention_scores=True,
    )
    model.build(((None, None, FRAMES + HANDS), (None, None)))
    return model


def optimizer(count: int, epochs: int) -> keras.optimizers.Optimizer:
    """Make Adam, with a learning rate that falls to zero."""
    steps = epochs * -(-count // BATCH_SIZE)
    rate = keras.optimizers.schedules.CosineDecay(0.005, steps)
    return keras.optimizers.Adam(rate, global_clipnorm=1.0)


def train_encoder(encoder: Listener, messages: list[Heard], epochs: int):
    """Train an encoder to name each character where it is complete.

    Args:
        encoder: The encoder of a model.
        messages: Messages of one length.
        epochs: Number of epochs.
    """
    source = keras.Input((None, FRAMES + HANDS))
    names = encoder(source)[0][..., :VOCABULARY_SIZE]
    model = keras.Model(source, ops.expm1(2 * names) / 1e4)  # probabilities
    loss = keras.losses.SparseCategoricalCrossentropy()
    model.compile(optimizer(len(messages), epochs), loss=loss)
    heard, ids = hear(messages), to_ids([x.text for x in messages])[:, 1:]
    places = links(messages, ids.shape[1], heard.shape[1])
    rows, steps, ends = np.nonzero(places)
    wanted = np.full(heard.shape[:2], NOTHING)
    wanted[rows, ends] = ids[rows, steps]
    counts = np.where(wanted == NOTHING, 0.1, 1.0)
    model.fit(
        heard, wanted, BATCH_SIZE, epochs, sample_weight=counts, verbose=2
    )


def train(
    model: Seq2Seq, messages: list[Heard], epochs: int, guided: bool = True
):
    """Train a decoder to write, and to stop where characters are complete.

    Args:
        model: The model.
        messages: Messages of one length.
        epochs: Number of epochs.
        guided: Whether attention is told where. Without it, words alone
            train the model.
    """
    heard, ids = hear(messages), to_ids([x.text for x in messages])
    wanted = ids[:, 1:]
    places = links(messages, wanted.shape[1], heard.shape[1])
    model.encoder.trainable = False
    model.compile(
        optimizer(len(messages), epochs),
        loss=[SequenceCrossentropy(), GuidedAlignmentLoss()],
        loss_weights=[1.0, float(guided)],
    )
    inputs = heard, ids[:, :-1]
    model.fit(inputs, (wanted, places), BATCH_SIZE, epochs, verbose=2)


def harden(model: Seq2Seq) -> list[str]:
    """Make attention hard, and let it stop a little sooner.

    In training two positions often share a stop, so that neither has a
    probability above 1/2. Without the bias such characters are passed over.

    Returns:
        What was changed, in words.
    """
    (attention,) = model.decoder.cell.attentions
    attention.monotonic.aligner.score_bias.assign_add(SOONER)
    return model.harden()


def read(model: Seq2Seq, messages: list[Heard]) -> list[str]:
    """Read messages of one length, at most one character a position."""
    heard = hear(messages)
    search = GreedySearch(max_length=heard.shape[1])
    found = model.generate(heard, search, return_attention_scores=False)
    return [to_text(row) for row in ops.convert_to_numpy(found.tokens)[:, 0]]
