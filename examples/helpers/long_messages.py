"""Which attention reads messages that are longer than those of training?

The module trains four models that differ only in their attention. All of them
read the output of the trained encoder of `helpers/listener.py`: a character or
nothing, every 100 ms. In each model, an LSTM reads this output, so that a
position contains information about earlier characters, and about its place in
the message. Messages, epochs, loss and random seed are the same, and no loss
guides the attention. Training messages take 3 to 8 seconds.

Additive attention compares only contents. Chunkwise attention continues from
the position where it stopped to the next matching position. Location-aware
attention also reads its earlier weights, up to 1.5 seconds to each side. GMM
attention moves by a distance that the decoder predicts, whatever the content
is.
"""

import keras
import numpy as np
from helpers.ear import VOCABULARY_SIZE
from helpers.ear import begins
from helpers.ear import hear
from helpers.ear import to_ids
from helpers.ear import to_text
from helpers.listener import BATCH_SIZE
from helpers.listener import Listener
from helpers.listener import name_positions
from helpers.listener import optimizer
from helpers.messages import error_rate
from helpers.messages import make_messages
from keras import ops

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import ChunkwiseAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import GreedySearch
from keras_attention import LocationAwareAttention
from keras_attention import Monotonic
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy

UNITS, COUNT = 64, 5000  # of both LSTMs; messages of training
SHORTEST, LONGEST = 3.0, 8.0  # seconds that are keyed in training
TESTS = {6.0: 80, 24.0: 20}  # seconds, and how many messages
RANGES = (6, 25), (15, 30)  # dB, and words a minute, in training and test
ATTENTIONS = {
    "chunkwise": lambda: ChunkwiseAttention(
        BahdanauAttention(
            32,
            normalize=True,
            alignment=Monotonic(
                score_bias=-4.0, sigmoid_noise=1.0, strict=True
            ),
        ),
        BahdanauAttention(32),
        chunk_size=2,
    ),
    "additive": lambda: BahdanauAttention(32),
    "location-aware": lambda: LocationAwareAttention(
        32, filters=32, kernel_size=31, cumulative=True
    ),
    "GMM": lambda: GaussianMixtureAttention(3),
}
# Logarithms of heights, widths and steps of the Gaussians before training:
# wide ones, which sum to about 1, and move on by 2.7 positions.
GAUSSIANS = -3.5, -4.0, 1.0


@keras.saving.register_keras_serializable(package="examples")
class Context(keras.layers.Layer):
    """Joins what is named at each position with what an LSTM knows there.

    Formula:

        output[t] = [LSTM(x)[t]; x[t]]

    Args:
        units: Units of the LSTM.
        **kwargs: Keras layer arguments, such as `name`.

    Shapes:
        named `(B, Tv, D)` -> sequence `(B, Tv, units + D)`.
    """

    def __init__(self, units: int, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.lstm = keras.layers.LSTM(units, return_sequences=True)

    def build(self, named_shape):
        self.lstm.build(named_shape)

    def call(self, named):
        return ops.concatenate([self.lstm(named), named], axis=-1)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def make_reader(attention: keras.layers.Layer) -> Seq2Seq:
    """Make a model from what is named, `(B, Tv, D)`, to characters."""
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(UNITS), attention, order="luong"
    )
    model = Seq2Seq(
        target_vocabulary_size=VOCABULARY_SIZE,
        embedding_dim=16,
        encoder=Context(UNITS),
        decoder=AttentionDecoder(cell),
    )
    model.build(((None, None, VOCABULARY_SIZE), (None, None)))
    if isinstance(attention, GaussianMixtureAttention):
        attention.bias.assign(np.repeat(GAUSSIANS, attention.components))
    return model


def as_features(named: np.ndarray) -> np.ndarray:
    """Turn names into features, two positions into one.

    Args:
        named: What each position is called, ids `(N, 2 n)`.

    Returns:
        `(N, n, VOCABULARY_SIZE)`: 8 for a character that begins there.
    """
    rows, count = named.shape
    found = 8 * np.eye(VOCABULARY_SIZE, dtype="float32")[named]
    found *= begins(named)[..., None]
    return found.reshape(rows, count // 2, 2, -1).sum(axis=2)


def join_names(named: np.ndarray) -> list[str]:
    """Join the characters that begin at some position, without attention."""
    starts = begins(named)
    return [to_text(x[y]) for x, y in zip(named, starts, strict=True)]


def read_names(model: Seq2Seq, named: np.ndarray) -> list[str]:
    """Read named positions, at most one character every 100 ms."""
    features = as_features(named)
    search = GreedySearch(max_length=features.shape[1])
    found = model.generate(features, search, return_attention_scores=False)
    return [to_text(row) for row in ops.convert_to_numpy(found.tokens)[:, 0]]


def compare_attentions(
    encoder: Listener, quick: bool, epochs: int, seed: int
) -> dict[str, tuple[float, ...]]:
    """Train each attention, and read messages of usual and fourfold length.

    Args:
        encoder: The trained encoder of `helpers/listener.py`, which names.
        quick: Whether to train for seconds only.
        epochs: Number of epochs of each.
        seed: Seed of the messages and of each training.

    Returns:
        Error rates for messages of each length of `TESTS`, by attention; first
        those of the names alone, one after the other.
    """
    count, epochs = (64, 1) if quick else (COUNT, epochs)
    messages = make_messages(count, LONGEST, seed, *RANGES, shortest=SHORTEST)
    features = as_features(name_positions(encoder, hear(messages)))
    ids = to_ids([message.text for message in messages])
    tests = [
        make_messages(2 if quick else n, x, seed + 1, *RANGES, held_out=True)
        for x, n in TESTS.items()
    ]
    named = [name_positions(encoder, hear(x)) for x in tests]
    found = {"names alone": [join_names(x) for x in named]}
    for kind, attention in ATTENTIONS.items():
        print(kind)
        keras.utils.set_random_seed(seed)
        model = make_reader(attention())
        adam = optimizer(len(messages), epochs)
        model.compile(adam, loss=SequenceCrossentropy())
        inputs = features, ids[:, :-1]
        model.fit(inputs, ids[:, 1:], BATCH_SIZE, epochs, verbose=2)
        model.harden()
        found[kind] = [read_names(model, x) for x in named]
    print("Character error rate at 6 to 25 dB, by length of the message")
    print(" " * 14 + "".join(f"{x:6.0f} s" for x in TESTS))
    rates = {}
    for kind, texts in found.items():
        rates[kind] = tuple(map(error_rate, texts, tests))
        print(f"{kind:14}" + "".join(f"{rate:8.1%}" for rate in rates[kind]))
    return rates
