"""The steps of a stream, from tensors to tensors."""

import numpy as np
import pytest
import streams
from samples import to_numpy
from streams import draw_ids
from streams import generated
from streams import make_model

from keras_attention.streaming import StreamSteps

SOURCE = draw_ids([9, 5])


@pytest.mark.slow
def test_words_have_room_for_the_rest_later():
    model = make_model()
    steps = StreamSteps(model)
    wanted, _ = generated(model, SOURCE)
    state = steps.read(SOURCE, None, steps.start(2, streams.LONGEST))
    words = [[], []]
    for _ in range(streams.LONGEST):
        *given, state = steps.write(state, True, room=2)
        tokens, lengths, on = to_numpy(given)
        for row, ids, length in zip(words, tokens, lengths, strict=True):
            row += ids[:length].tolist()
            assert not ids[length:].any()
        if not on.any():
            break
    assert words == wanted
    assert not to_numpy(state.left).any()


@pytest.mark.parametrize(
    ("bias", "length"),
    [
        (1e9 * (np.arange(streams.WORDS) == 0), 1),  # the end is a word
        (np.full(streams.WORDS, np.nan), 0),  # what is no number is not
    ],
)
def test_an_end_id_of_zero(bias, length):
    model = make_model()
    model.output_layer.bias.assign(bias)
    steps = StreamSteps(model, end_id=0)
    tokens, lengths, on, state = steps.write(steps.start(1, 5), True, 5)
    assert to_numpy(lengths).tolist() == [length]
    assert not to_numpy(on).any()
    assert not to_numpy(tokens).any()
    assert to_numpy(state.left).tolist() == [0]
