"""What a Seq2Seq refuses, and what it says about it."""

import functools

import keras
import numpy as np
import pytest
from keras import layers
from keras import ops
from seq2seqs import built_model
from seq2seqs import make_model
from tiers import some

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import GuidedAlignmentLoss
from keras_attention import RecurrentEncoder
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import TokenAccuracy
from keras_attention.models.base import check_generation

SOURCE = np.array([[2, 4, 5, 3], [2, 4, 3, 0]], "int32")
BACKEND = keras.backend.backend()
EAGER = BACKEND != "jax"  # which compiles in any case
TARGET = np.array([[2, 4, 6, 3], [2, 5, 3, 0]], "int32")
STATES = {"return_sequences": True, "return_state": True}


SIZES = {"source_vocabulary_size": 7, "target_vocabulary_size": 8}
make = functools.partial(make_model, **SIZES)
built = functools.partial(built_model, **SIZES)
whole = functools.cache(built)  # for tests that change nothing of it


def functional(*encoders):
    """A functional model with the first one's sequence, and all states."""
    inputs = keras.Input((None, 3))
    found = [layer(inputs) for layer in encoders]
    states = [x for _, *states in found for x in states]
    return keras.Model(inputs, [found[0][0], *states])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encoder": layers.LSTM}, "the class LSTM.*RecurrentEncoder"),
        ({"encoder": "lstm"}, "`encoder` must be an instance of Layer"),
        ({"decoder": layers.LSTM(4)}, r"Wrap the cell: AttentionDecoder\(cell"),
        ({"bridge": "dense"}, "`bridge` must be an instance of Layer"),
        ({"bridge": StateBridge}, "the class StateBridge"),
        (
            {"encoder": RecurrentEncoder(4, bidirectional=False)},
            "bidirectional=False",
        ),
        (
            {
                "encoder": layers.GRU(
                    4, return_sequences=True, return_state=True
                )
            },
            "unidirectional. Use StateBridge",
        ),
        ({"target_vocabulary_size": 0}, "`target_vocabulary_size`"),
        ({"embedding_dim": "3"}, "`embedding_dim` must be a positive integer"),
        ({"source_vocabulary_size": 7.0}, "`source_vocabulary_size`"),
        ({"dropout": 1.5}, r"`dropout` must be in \[0, 1\)"),
        ({"word_dropout": 1.5}, r"`word_dropout` must be in \[0, 1\)"),
    ],
)
def test_refuses_parts_that_do_not_fit(changes, words):
    with pytest.raises(ValueError, match=words):
        make(**changes)


def test_a_functional_encoder_of_one_direction_is_known():
    def encoder():
        return functional(layers.LSTM(4, **STATES))

    with pytest.raises(ValueError, match=r"after Functional.*unidirectional"):
        make(encoder=encoder())
    make(encoder=encoder(), bridge=StateBridge(bidirectional=False))


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_functional_encoder_of_both_directions_has_a_bridge(by_hand):
    forward = layers.GRU(2, **STATES)
    backward = layers.GRU(2, go_backwards=True, **STATES)
    both = [forward, backward] if by_hand else [layers.Bidirectional(forward)]
    make(encoder=functional(*both))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_bridge_of_another_size_is_told_the_right_one(cell):
    one = {"lstm": keras.layers.LSTMCell, "gru": keras.layers.GRUCell}[cell]
    encoder = RecurrentEncoder(12, cell=cell)
    with pytest.raises(ValueError, match=r"\[24.*StateBridge\(units=12\)"):
        built_model(one(12), encoder=encoder)
    built_model(one(12), encoder=encoder, bridge=StateBridge(units=12))


def test_a_bridge_needs_states():
    encoder = layers.Bidirectional(layers.GRU(2, return_sequences=True))
    model = make(encoder=encoder)
    with pytest.raises(ValueError, match="`, which returns no states"):
        model((SOURCE, TARGET))


@pytest.mark.parametrize("inputs", [SOURCE, (SOURCE,), [SOURCE] * 3])
def test_needs_a_pair(inputs):
    with pytest.raises(ValueError, match="needs a pair of source and target"):
        make()(inputs)


def test_generates_only_with_weights():
    with pytest.raises(ValueError, match=r"generate needs.*model\.build\("):
        make().generate(SOURCE)


@pytest.mark.parametrize("search", ["beam", 5, BeamSearch])
def test_generates_only_by_a_search(search):
    with pytest.raises(ValueError, match=r"`search`.*BeamSearch\(5\)"):
        whole().generate(SOURCE, search)


@pytest.mark.parametrize("source", [SOURCE[0], SOURCE[None]])
def test_generates_of_ids_with_two_axes(source):
    words = r"ids \(B, Tv\).*source\.shape=.*source\[None\]"
    with pytest.raises(ValueError, match=words):
        whole().generate(source)


def test_generates_of_features_with_as_many_axes_as_it_is_built_for():
    model = built(features=3)
    with pytest.raises(ValueError, match="features with 3 axes"):
        model.generate(np.ones((4, 3), "float32"))


@pytest.mark.parametrize(
    ("source", "prefix", "words"),
    [
        (7, 4, r"generate needs source ids from 0 to 6\. .* 0 to 7, with sour"),
        (-1, 4, r"source ids .* ids from -1"),
        (4, 8, r"prefix ids from 0 to 7\. .* 4 to 8, with target_vocabulary_s"),
        (4, -1, r"prefix ids .* ids from -1"),
    ],
)
def test_generates_of_known_ids(source, prefix, words):
    ids = SOURCE.copy()
    ids[0, 1] = source
    with pytest.raises(ValueError, match=words):
        whole().generate(ids, prefix=[[prefix], [4]])


def test_a_prefix_may_copy_words_of_the_source():
    model = built(source_vocabulary_size=8, copying=True)
    source, prefix = map(ops.convert_to_tensor, (SOURCE, [[11], [4]]))
    check_generation(model, source, GreedySearch(), prefix)
    with pytest.raises(
        ValueError, match=r"0 to 11\..*=8 and 4 source positions"
    ):
        model.generate(SOURCE, prefix=[[12], [4]])


@pytest.mark.tensorflow
def test_ids_in_a_graph_are_not_read():
    import tensorflow as tf

    model = whole()

    @tf.function(autograph=False)
    def check(ids):
        check_generation(model, ids, GreedySearch(), ids)
        return ids

    assert check(tf.constant([[99]])).shape == (1, 1)


def fit(model, x, y, steps=1, **kwargs):
    model.compile(
        "sgd",
        loss=SequenceCrossentropy(),
        run_eagerly=EAGER,
        steps_per_execution=steps,
    )
    return model.fit(x, y, verbose=0, **kwargs)


@pytest.mark.parametrize(
    ("source", "target", "labels", "words"),
    [
        (7, 4, 4, r"source ids from 0 to 6\. Received.*to 7"),
        (4, 8, 4, r"target ids from 0 to 7"),
        (4, 4, 8, r"target ids from 0 to 7"),
        (4, 4, -1, r"ids from -1"),
    ],
)
def test_ids_are_those_of_the_vocabulary(source, target, labels, words):
    arrays = [x.copy() for x in (SOURCE, TARGET, TARGET)]
    for array, new in zip(arrays, (source, target, labels), strict=True):
        array[0, 1] = new
    with pytest.raises(ValueError, match=words):
        fit(make(), arrays[:2], arrays[2])


@pytest.mark.parametrize("method", ["fit", "train_on_batch"])
def test_words_are_no_classes_of_rows(method):
    model = make()
    model.compile("sgd", SequenceCrossentropy(), run_eagerly=EAGER)
    train = getattr(model, method)
    options = {"verbose": 0} if method == "fit" else {}
    batch = (SOURCE, TARGET), TARGET
    weights = np.where(np.arange(8) == 3, 0.0, 1.0)
    words = rf"Seq2Seq.{method} .*`class_weight`.*sample_weight=weights"
    for classes in (dict(enumerate(weights)), {}):
        with pytest.raises(ValueError, match=words):
            train(*batch, class_weight=classes, **options)
    if method == "fit":
        with pytest.raises(ValueError, match=words):
            train(*batch, 1, 1, 0, None, 0.0, None, True, {0: 1.0})
    train(*batch, sample_weight=weights[TARGET], **options)


def taken(*losses):
    """Compile a model of words, or of words and their attention."""
    model = make(return_attention_scores=len(losses) == 2)
    model.compile("sgd", losses if len(losses) == 2 else losses[0])
    return model.loss


LOGITS = {"from_logits": True}
Losses, Metrics = keras.losses, keras.metrics


@pytest.mark.parametrize(
    "loss",
    [
        "sparse_categorical_crossentropy",
        "kld",
        Losses.sparse_categorical_crossentropy,
        Losses.SparseCategoricalCrossentropy,
        Losses.SparseCategoricalCrossentropy(),
        Losses.SparseCategoricalCrossentropy(**LOGITS),
        Losses.SparseCategoricalCrossentropy(ignore_class=0),
        Losses.CategoricalCrossentropy(**LOGITS),
        Losses.Dice(),
    ],
)
def test_losses_of_keras_know_no_words(loss):
    words = r"Received: loss=.*Try loss=SequenceCrossentropy\(\)"
    for losses in ([loss], [loss, GuidedAlignmentLoss()]):
        with pytest.raises(ValueError, match=words):
            taken(*losses)
    taken(SequenceCrossentropy(), loss)  # of weights and links


@pytest.mark.parametrize("name", ["metrics", "weighted_metrics"])
@pytest.mark.parametrize(
    "metric",
    [
        "accuracy",
        "acc",
        "sparse_top_k_categorical_accuracy",
        Metrics.sparse_categorical_accuracy,
        Metrics.SparseCategoricalAccuracy(),
        Metrics.SparseCategoricalCrossentropy(**LOGITS),
    ],
)
def test_metrics_of_keras_know_no_words(name, metric):
    words = rf"Received: {name}=.*Try {name}=\[TokenAccuracy"
    model = make()
    for metrics in ([TokenAccuracy(), metric], metric, {"words": metric}):
        with pytest.raises(ValueError, match=words):
            model.compile("sgd", SequenceCrossentropy(), **{name: metrics})
    model = make(return_attention_scores=True)
    both = [SequenceCrossentropy(), GuidedAlignmentLoss()]
    with pytest.raises(ValueError, match=words):
        model.compile("sgd", both, **{name: [[metric], []]})
    model.compile("sgd", both, **{name: [[TokenAccuracy()], [metric]]})


@keras.saving.register_keras_serializable()
class Own(keras.losses.SparseCategoricalCrossentropy):
    """A class of the user's own."""


@pytest.mark.parametrize(
    "loss",
    [
        None,
        lambda x, y: ops.square(x - y),
        Own(),
        "Custom>Own",
        Losses.SparseCategoricalCrossentropy(**LOGITS, ignore_class=0),
        SequenceCrossentropy(0.1),
    ],
)
def test_losses_of_words_are_taken(loss):
    assert taken(loss) is loss
    metrics = [TokenAccuracy(), Metrics.MeanMetricWrapper(sum), sum]
    make().compile("sgd", loss, metrics=metrics)


def test_files_of_earlier_versions_keep_their_loss(tmp_path):
    model = built()
    keras.Model.compile(
        model, "adam", "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    model.optimizer.build(model.trainable_variables)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.loss == "sparse_categorical_crossentropy"
    assert loaded.optimizer.built


class Batches(keras.utils.PyDataset):
    """A dataset, whose ids nobody sees beforehand."""

    def __init__(self, labels):
        super().__init__()
        self.labels = labels

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return (SOURCE, TARGET), self.labels


@pytest.mark.slow
@pytest.mark.parametrize("form", some(["list", "one", "none"], 1))
def test_a_first_batch_without_a_loss_stops_training(form):
    model, labels = make(), TARGET.copy()
    labels[0, 1] = 9
    callbacks = {
        "list": [keras.callbacks.History()],
        "one": keras.callbacks.History(),
        "none": None,
    }[form]
    with pytest.raises(ValueError, match=r"loss of NaN.*vocabulary_size=8"):
        fit(model, Batches(labels), None, callbacks=callbacks)
    fit(make(), Batches(TARGET), None, callbacks=callbacks)


def test_refuses_a_prefix_with_the_start_id():
    """It is never generated, so that a row would get no text at all."""
    model, prefix = whole(), np.array([[2, 4], [0, 4]])
    with pytest.raises(ValueError, match=r"start_id=2.*prefix\[:, 1:\]"):
        model.generate(SOURCE, prefix=prefix)
    found = model.generate(SOURCE, GreedySearch(start_id=3), prefix=prefix)
    assert ops.convert_to_numpy(found.tokens)[0, 0, :2].tolist() == [2, 4]


def test_a_prefix_has_one_row_a_source():
    with pytest.raises(
        ValueError, match=r"one row for each source, here \(2, P\)"
    ):
        whole().generate(SOURCE, prefix=np.array([[4]]))
