"""Callbacks as users run them, in a `fit` by graphs of TensorFlow."""

import keras
import numpy as np
from samples import to_numpy
from seq2seqs import make_model

import keras_attention as ka

TEXT = np.array([[2, 4, 5, 6, 3], [2, 7, 4, 3, 0], [2, 8, 3, 0, 0]] * 16)
WORDS = ["b", "c", "d", "e", "f"]  # those of the ids from 4 on


def test_callbacks_work_together():
    keras.utils.set_random_seed(0)
    model = make_model(embedding_dim=8, scheduled_sampling=True)
    model.compile(keras.optimizers.Adam(0.05), loss=ka.SequenceCrossentropy())
    tokenizer = ka.SymbolTokenizer(WORDS)
    search = ka.GreedySearch(max_length=6)
    translator = ka.Translator(model, tokenizer, tokenizer, search)
    texts = tokenizer.detokenize(TEXT[:3]).astype(str).tolist()
    ending = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: weights.append(model.get_weights())
    )
    weights, same = [], {"same": lambda one, other: float(one == other)}
    history = model.fit(
        (TEXT, TEXT[:, :-1]),
        TEXT[:, 1:],
        batch_size=12,
        epochs=20,
        callbacks=[
            ka.ScheduledSampling(ka.InverseSigmoidSchedule(5.0)),
            ka.ValidationScores(translator, texts, texts, same, frequency=10),
            ka.AverageWeights(2),
            ending,
        ],
        verbose=0,
    ).history
    assert history["val_same"][-1] == 1
    assert float(to_numpy(model.sampling_probability)) > 0.9
    mean = [np.mean(x, axis=0) for x in zip(*weights[-2:], strict=True)]
    for one, other in zip(model.get_weights(), mean, strict=True):
        if one.dtype == np.float32 and one.ndim:
            np.testing.assert_allclose(one, other, rtol=1e-5)
    assert translator(texts) == texts
