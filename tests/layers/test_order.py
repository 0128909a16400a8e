"""Sequences in reverse order behind layers of Keras, in functional models."""

import keras
import numpy as np
import pytest
import samples
from gradients import to_numpy
from keras import layers

import keras_attention as ka
from keras_attention.layers import reversed_by

SIZE = 4
SEQUENCES = {"return_sequences": True}
SOURCE = np.array([[5, 9, 4, 7]])
PADDED = {
    "behind": np.pad(SOURCE, ((0, 0), (0, 3))),
    "in front": np.pad(SOURCE, ((0, 0), (3, 0))),
}
QUERY = np.random.default_rng(0).normal(size=(1, 3, SIZE)).astype("float32")


def backward(**options):
    return layers.GRU(SIZE, go_backwards=True, **SEQUENCES, **options)


def forward():
    return layers.GRU(SIZE, **SEQUENCES)


REVERSED = {
    "LSTM": lambda x: layers.LSTM(SIZE, go_backwards=True, **SEQUENCES)(x),
    "RNN": lambda x: layers.RNN(
        layers.GRUCell(SIZE), go_backwards=True, **SEQUENCES
    )(x),
    "Bidirectional": lambda x: layers.Bidirectional(
        backward(), backward_layer=forward()
    )(x),
    "Sequential": lambda x: keras.Sequential([backward()])(x),
    "behind others": lambda x: layers.LayerNormalization()(
        layers.Dense(SIZE)(backward()(layers.Dropout(0.1)(x)))
    ),
    "behind a Dense of a Sequential": lambda x: keras.Sequential(
        [layers.Dense(SIZE), backward(), layers.TimeDistributed(layers.ReLU())]
    )(x),
    "with its state": lambda x: backward(return_state=True)(x)[0],
    "concatenated": lambda x: layers.Concatenate()(
        [backward()(x), backward()(x)]
    ),
    "behind ours": lambda x: ka.SelfAttention(ka.DotAttention())(backward()(x)),
}
KEPT = {
    "Embedding": lambda x: x,
    "GRU": lambda x: forward()(x),
    "Bidirectional": lambda x: layers.Bidirectional(forward())(x),
    "two": lambda x: layers.Add()([forward()(x), x]),
    "a Sequential": lambda x: keras.Sequential([forward()])(x),
}
READERS = {
    "AttentionDecoder": lambda memory, query: ka.AttentionDecoder(
        ka.AttentionDecoderCell(layers.GRUCell(3), ka.BahdanauAttention(3))
    )(query, memory),
    "BahdanauAttention": lambda memory, query: ka.BahdanauAttention(3)(
        query, memory
    ),
    # Keras 3.12 needs a model to use all of its inputs.
    "AttentionPooling": lambda memory, query: (
        ka.AttentionPooling(3)(memory) * keras.ops.max(query)
    ),
}


def read(memory_of, reader):
    """Make a functional model in which a layer of ours reads a sequence."""
    ids, query = keras.Input((None,), dtype="int32"), keras.Input((3, SIZE))
    embedded = layers.Embedding(12, SIZE, mask_zero=True)(ids)
    return keras.Model(
        [ids, query], READERS[reader](memory_of(embedded), query)
    )


# Keras warns of masks of models in models, and passes them on all the same.
pytestmark = pytest.mark.filterwarnings("ignore:.*does not support masking")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", [*REVERSED, *KEPT])
def test_padding_changes_nothing(name, reader):
    model = read({**REVERSED, **KEPT}[name], reader)
    samples.randomize(model, 1, scale=1.0)
    alone = to_numpy(model([SOURCE, QUERY]))
    for padded in PADDED.values():
        found = to_numpy(model([padded, QUERY]))
        np.testing.assert_allclose(found, alone, atol=1e-5)


def test_a_saved_model_reads_the_same_mask(tmp_path):
    model = read(REVERSED["LSTM"], "AttentionDecoder")
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    for words in (SOURCE, *PADDED.values()):
        want, found = (to_numpy(x([words, QUERY])) for x in (model, again))
        np.testing.assert_array_equal(found, want)


def test_a_mask_that_is_given_stays_as_it_is():
    ids = keras.Input((None,), dtype="int32")
    words = layers.Embedding(12, SIZE, mask_zero=True)(ids)
    query = keras.Input((3, SIZE))
    weights = ka.DotAttention()(
        query,
        backward()(words),
        value_mask=keras.ops.not_equal(ids, 9),
        return_attention_scores=True,
    )[1]
    found = to_numpy(keras.Model([ids, query], weights)([SOURCE, QUERY]))
    assert ((found == 0) == (SOURCE == 9)[:, None]).all()


BROKEN = {
    "a loop": lambda x: forward()(backward(name="back")(x)),
    "another": lambda x: backward()(
        layers.Dense(SIZE)(backward(name="back")(x))
    ),
    "a sum": lambda x: layers.Add()([x, backward(name="back")(x)]),
    "a chain": lambda x: keras.Sequential(
        [backward(name="back"), ka.SelfAttention(ka.DotAttention())]
    )(x),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_reads_a_mask_in_another_order_is_refused(name):
    with pytest.raises(ValueError, match=r"GRU `back` with go_backwards=True"):
        read(BROKEN[name], "BahdanauAttention")


@pytest.mark.parametrize("name", BROKEN)
def test_without_a_mask_every_order_is_right(name):
    x = keras.Input((None, SIZE))
    assert ka.BahdanauAttention(3)(x, BROKEN[name](x)).shape[-1] == SIZE


def test_the_layer_that_reverses_is_named():
    back = backward()
    assert reversed_by(back) is back
    assert reversed_by(forward()) is None
    assert reversed_by(keras.Sequential([back, layers.Dropout(0.1)])) is back
    chain = keras.Sequential([back, layers.Lambda(lambda x: x[:, ::-1])])
    assert reversed_by(chain) is None  # not known
    x = keras.Input((None, SIZE))
    assert reversed_by(keras.Model(x, [back(x), x])) is back
    assert reversed_by(keras.Model(x, [x, back(x)])) is None
