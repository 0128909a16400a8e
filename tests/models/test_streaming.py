"""What a model keeps of programs. Streams are in `test_stream.py`."""

import pytest
from streams import make_model

from keras_attention.models.stream import Stream


@pytest.fixture(scope="module")
def model():
    return make_model()


def test_what_becomes_hard_is_compiled_again(model):
    attention = model.decoder.cell.attention
    assert model.harden() == []
    version = model.version
    program = model.stream()._program
    assert model.stream()._program is program
    attention.aligner.mode = "recursive"
    model.train_function = "compiled with the soft mode"
    assert model.harden() == [
        f"{attention.name}: Monotonic: mode='recursive' became mode='hard'"
    ]
    assert model.version == version + 1
    assert model.stream()._program is not program
    assert model.train_function is None


def test_each_stream_is_a_new_one(model):
    one, other = model.stream(5), model.stream(5)
    assert isinstance(one, Stream)
    assert one.state is not other.state
    assert one.finished == [False]
