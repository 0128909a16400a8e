"""Models as users run them: graphs of TensorFlow, and arrays of NumPy."""

import keras
import numpy as np
import pytest
from samples import to_numpy
from seq2seqs import WORDS
from seq2seqs import make_model

import keras_attention as ka

TEXT = np.array([[2, 4, 5, 6, 3], [2, 7, 4, 3, 0], [2, 8, 3, 0, 0]] * 16)


def test_a_model_is_trained_and_searched_saved_and_loaded(tmp_path):
    keras.utils.set_random_seed(0)
    model = make_model(embedding_dim=8)
    model.compile(
        keras.optimizers.Adam(0.05),
        loss=ka.SequenceCrossentropy(),
        metrics=[ka.TokenAccuracy()],
    )
    data = (TEXT, TEXT[:, :-1]), TEXT[:, 1:]
    history = model.fit(
        *data, batch_size=12, epochs=20, validation_data=data, verbose=0
    ).history
    assert history["val_loss"][-1] < 0.2 * history["val_loss"][0]
    again = model.evaluate(*data, return_dict=True, verbose=0)
    assert again["loss"] == pytest.approx(history["val_loss"][-1], rel=1e-3)
    assert again["token_accuracy"] == history["val_token_accuracy"][-1] == 1
    found = [
        to_numpy(model.generate(TEXT[:3], search).tokens)[:, 0, :4]
        for search in (
            ka.GreedySearch(max_length=6),
            ka.BeamSearch(3, max_length=6),
        )
    ]
    for tokens in found:  # it writes what it reads
        np.testing.assert_array_equal(tokens, TEXT[:3, 1:])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    again = loaded.generate(TEXT[:3], ka.BeamSearch(3, max_length=6))
    np.testing.assert_array_equal(to_numpy(again.tokens)[:, 0, :4], found[1])


def test_a_language_model_is_trained_and_draws():
    keras.utils.set_random_seed(0)
    model = ka.LanguageModel(WORDS, 8, keras.layers.GRUCell(16))
    model.compile(keras.optimizers.Adam(0.05), loss=ka.SequenceCrossentropy())
    model.fit(TEXT[:, :-1], TEXT[:, 1:], batch_size=12, epochs=15, verbose=0)
    drawn = model.generate(TEXT[:8], ka.Sampling(max_length=5, top_k=3))
    known = {tuple(row[row > 3]) for row in TEXT[:3]}
    texts = [tuple(x[x > 3]) for x in to_numpy(drawn.tokens)[:, 0]]
    assert len(known & {*texts}) > 1


def test_an_ensemble_is_searched():
    models = [make_model(8, 5), make_model(8, 5)]
    for model in models:
        model.build((TEXT.shape, TEXT.shape))
    found = ka.Ensemble(models).generate(
        TEXT[:3], ka.BeamSearch(2, n_best=2, max_length=4)
    )
    assert to_numpy(found.tokens).shape == (3, 2, 4)
    assert np.all(np.diff(to_numpy(found.scores), axis=1) <= 0)
