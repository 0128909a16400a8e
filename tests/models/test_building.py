"""A Seq2Seq before its first call: weights, files, exports, and its words."""

import keras
import numpy as np
import pytest
import samples
from gradients import to_numpy
from keras import layers
from keras import ops
from ready import EAGER
from ready import GRAPH
from seq2seqs import make_model
from tiers import some

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import BeamSearch
from keras_attention import CoverageAttention
from keras_attention import GreedySearch
from keras_attention import RecurrentEncoder
from keras_attention import Sampling
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy

SOURCE = np.array([[2, 4, 5, 3, 0], [2, 6, 4, 5, 3], [2, 4, 3, 0, 0]], "int32")
TARGET = np.array([[2, 4, 6, 3], [2, 5, 3, 0], [2, 5, 6, 3]], "int32")
FORMS = {
    "plain": {},
    "features": {"source_vocabulary_size": None},
    "copying": {"copying": True},
    "lexical": {"lexical": True},
    "scheduled": {"scheduled_sampling": True},
    "tied": {"tie_embeddings": True},
    "tied_all": {"tie_embeddings": "all"},
    "stacked": {"encoder": lambda: RecurrentEncoder(2, depth=2)},
    "no_bridge": {
        "encoder": lambda: layers.LSTM(
            4, return_sequences=True, return_state=True
        ),
        "bridge": None,
    },
    "weights": {"return_attention_scores": True},
}


def make(form="plain", attention=BahdanauAttention):
    changes = {"encoder": lambda: RecurrentEncoder(2), **FORMS[form]}
    return make_model(
        [layers.LSTMCell(4) for _ in range(2 if form == "stacked" else 1)],
        attention(3),
        words=7,
        embedding_dim=3,
        attention_layer_size=3 if form.startswith("tied") else None,
        **{**changes, "encoder": changes["encoder"]()},
    )


def inputs(form):
    source = SOURCE
    if form == "features":
        source = samples.draw(3, 5, 6, dtype="float32")
    return source, TARGET


def shapes(form):
    features = (6,) if form == "features" else ()
    return ((None, None, *features), (None, None))


def flat(found):
    return [to_numpy(x) for x in keras.tree.flatten(found)]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_build_makes_all_weights(form, tmp_path):
    """And so files can be loaded before a call."""
    trained, fresh = make(form), make(form)
    wanted = flat(trained(inputs(form)))
    trained.save_weights(tmp_path / "model.weights.h5")
    fresh.build(shapes(form))
    assert fresh.built
    names = [w.path.split("/", 1)[1] for w in trained.weights]
    assert len(fresh.weights) == len(names)
    fresh.load_weights(tmp_path / "model.weights.h5")
    for x, y in zip(flat(fresh(inputs(form))), wanted, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("form", some(["plain", "features"], 1))
def test_keras_exports_any_length(form, tmp_path):
    """By ids, also after the first batch had one length."""
    import tensorflow as tf

    model = make(form)
    model.compile("sgd", loss=SequenceCrossentropy(), **EAGER)
    source, target = inputs(form)
    model.fit((source, target[:, :-1]), target[:, 1:], verbose=0)
    model.export(tmp_path / "exported", verbose=False)
    exported = tf.saved_model.load(tmp_path / "exported")
    for length in (5, 3):
        part = source[:2, :length], target[:2, : length - 1]
        wanted = to_numpy(model(part))
        found = exported.serve(tuple(map(tf.constant, part)))
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "search",
    [
        GreedySearch(max_length=6, start_id=5),
        BeamSearch(3, n_best=3, max_length=6),
        Sampling(seed=1, max_length=6, temperature=3.0),
    ],
    ids=lambda search: type(search).__name__,
)
@pytest.mark.usefixtures("without_graphs")
def test_neither_padding_nor_start_is_written(search):
    """Whatever an untrained model thinks of them."""
    model = make()
    model.build(shapes("plain"))
    bias = np.zeros(7)
    bias[[0, search.start_id]] = 10.0
    model.output_layer.bias.assign(bias)
    found = model.generate(SOURCE, search)
    tokens, lengths = to_numpy(found.tokens), to_numpy(found.lengths)
    for row, length in zip(
        tokens.reshape(-1, 6), lengths.reshape(-1), strict=True
    ):
        assert not np.isin(row[:length], [0, search.start_id]).any()
        assert (row[length:] == 0).all()


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_a_start_that_is_the_end_may_be_written():
    model = make()
    model.build(shapes("plain"))
    model.output_layer.bias.assign(np.eye(7)[3] * 20)
    search = GreedySearch(max_length=6, start_id=3, end_id=3)
    assert (to_numpy(model.generate(SOURCE, search).lengths) == 1).all()


def test_attend_gives_the_weights_of_a_known_target():
    model = make("weights")
    model.build(shapes("plain"))
    _, wanted = model((SOURCE, TARGET))
    (found,) = model.attend(SOURCE, TARGET)
    np.testing.assert_allclose(to_numpy(found), to_numpy(wanted), atol=1e-6)


@pytest.mark.slow
def test_a_source_of_one_word_warns_of_nothing(recwarn):
    model = make(attention=CoverageAttention)
    model((SOURCE[:, :1], TARGET))
    model.generate(SOURCE[:, :1], GreedySearch(max_length=3))
    assert not [w for w in recwarn if "softmax" in str(w.message)]


class Cells(layers.Layer):
    """Reads an image, whose height and width it has to know."""

    def call(self, image):
        height, width, size = image.shape[1:]
        sequence = keras.ops.reshape(image, (-1, height * width, size))
        return sequence, *[keras.ops.mean(sequence, axis=1)] * 2


def image_model():
    """Make a model of images 2 high and 5 wide, and build it."""
    cell = AttentionDecoderCell(layers.LSTMCell(4), BahdanauAttention(3))
    model = Seq2Seq(
        target_vocabulary_size=7,
        embedding_dim=3,
        encoder=Cells(),
        decoder=AttentionDecoder(cell),
    )
    model.build(((None, 2, 5, 4), (None, None)))
    return model


@pytest.mark.slow
def test_an_image_keeps_its_height_and_width():
    model = image_model()
    image = samples.draw(3, 2, 5, 4, dtype="float32")
    assert tuple(model((image, TARGET)).shape) == (3, 4, 7)


def test_an_image_is_exported_with_its_height_and_width(monkeypatch):
    taken = []

    def export(self, filepath, format, verbose, input_signature):
        taken.extend(input_signature)

    monkeypatch.setattr(keras.Model, "export", export)
    image_model().export("unused")
    ((source, target),) = taken
    assert source.shape == (None, 2, 5, 4)
    assert target.shape == (None, None)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("built", some([False, True], 1))
def test_the_first_step_is_traced_once(built, monkeypatch):
    """Twice if its first trace creates weights, or the optimizer's."""
    plain, traced = AttentionDecoder.call, []

    def call(self, *args, **options):
        traced.append(ops.is_tensor(args[0]))
        return plain(self, *args, **options)

    model = make()
    if built:
        model((SOURCE, TARGET))
    model.compile("adam", loss=SequenceCrossentropy(), **GRAPH)
    monkeypatch.setattr(AttentionDecoder, "call", call)
    model.fit((SOURCE, TARGET), TARGET, epochs=2, verbose=0)
    assert traced.count(True) == 1
