"""Streams as users run them, by graphs of TensorFlow."""

import keras
import numpy as np
import streams
from seq2seqs import make_model

import keras_attention as ka

TEXT = np.array([[2, 4, 5, 6, 3], [2, 7, 4, 3, 0], [2, 8, 3, 0, 0]] * 16)


def test_what_was_trained_is_streamed():
    keras.utils.set_random_seed(0)
    model = make_model(
        attention=ka.LuongGeneral(alignment=ka.Monotonic(sigmoid_noise=1.0)),
        encoder=ka.RecurrentEncoder(8, cell="gru", bidirectional=False),
        bridge=ka.StateBridge("zeros", bidirectional=False),
    )
    model.compile(keras.optimizers.Adam(0.05), loss=ka.SequenceCrossentropy())
    data = (TEXT, TEXT[:, :-1]), TEXT[:, 1:]
    losses = model.fit(*data, batch_size=12, epochs=10, verbose=0).history
    assert losses["loss"][-1] < losses["loss"][0]
    assert model.harden()
    wanted, _ = streams.generated(model, TEXT[:3])
    assert streams.joined(streams.streamed(model, TEXT[:3], [2, 3])) == wanted
