"""Outputs as users run them: trained and searched in graphs of TensorFlow."""

import keras
import numpy as np
import pytest
from samples import to_numpy
from seq2seqs import make_model

import keras_attention as ka

TEXT = np.array([[2, 4, 5, 6, 3], [2, 7, 4, 3, 0], [2, 8, 3, 0, 0]] * 16)
OUTPUTS = {
    "entmax15": ({"output": "entmax15"}, ka.EntmaxLoss()),
    "lexical": ({"lexical": True}, ka.SequenceCrossentropy()),
    "copying": ({"copying": True}, ka.SequenceCrossentropy()),
    "tied": (
        {"tie_embeddings": True, "attention_layer_size": 8},
        ka.SequenceCrossentropy(),
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_it_learns_and_is_searched(name):
    options, loss = OUTPUTS[name]
    keras.utils.set_random_seed(0)
    model = make_model(embedding_dim=8, **options)
    model.compile(keras.optimizers.Adam(0.05), loss=loss)
    data = (TEXT, TEXT[:, :-1]), TEXT[:, 1:]
    losses = model.fit(*data, batch_size=12, epochs=15, verbose=0).history
    assert losses["loss"][-1] < 0.3 * losses["loss"][0]
    found = model.generate(TEXT[:3], ka.BeamSearch(2, max_length=6))
    np.testing.assert_array_equal(
        to_numpy(found.tokens)[:, 0, :4], TEXT[:3, 1:]
    )
