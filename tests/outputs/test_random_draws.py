"""The order of random draws: seeded trainings stay the same, bit for bit."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
from ready import EAGER
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import RecurrentEncoder
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge

GOLDEN = Path(__file__).parents[1] / "golden" / "draws.json"
FLAGS = {
    "plain": {},
    "all_tied": {"tie_embeddings": "all"},
    "copying_lexical_tied": {
        "copying": True,
        "lexical": True,
        "tie_embeddings": True,
    },
    "copying_sampled": {"copying": True, "scheduled_sampling": True},
    "lexical_sampled": {"lexical": True, "scheduled_sampling": True},
    # Each is in one of those above.
    "tied": {"tie_embeddings": True},
    "lexical": {"lexical": True},
    "copying": {"copying": True},
}


def losses(flags) -> list[float]:
    """Train a model of seeded weights for a few steps, by seeded draws."""
    keras.utils.set_random_seed(3)
    cell = AttentionDecoderCell(
        keras.layers.GRUCell(8, dropout=0.1),
        BahdanauAttention(5, dropout=0.1),
        attention_layer_size=5,
    )
    model = Seq2Seq(
        source_vocabulary_size=WORDS,
        target_vocabulary_size=WORDS,
        embedding_dim=5,
        encoder=RecurrentEncoder(4, cell="gru", dropout=0.1),
        decoder=AttentionDecoder(cell),
        bridge=StateBridge(),
        dropout=0.3,
        word_dropout=0.2,
        **flags,
    )
    model.build((SOURCE.shape, TARGET.shape))
    if model.scheduled_sampling:
        model.sampling_probability.assign(0.5)
    model.compile("sgd", loss=SequenceCrossentropy(), **EAGER)
    data = (SOURCE, TARGET[:, :-1]), TARGET[:, 1:]
    return [float(model.train_on_batch(*data)) for _ in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("name", some(FLAGS, 5))
def test_a_seeded_training_draws_what_it_always_drew(name):
    golden = json.loads(GOLDEN.read_text())[keras.backend.backend()][name]
    np.testing.assert_allclose(losses(FLAGS[name]), golden, rtol=2e-6)
