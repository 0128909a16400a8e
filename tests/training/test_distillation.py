"""A student that learns what a teacher says."""

import keras
import numpy as np
import pytest
from gradients import gradients
from gradients import to_numpy
from keras import ops
from ready import EAGER
from ready import GRAPH
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import make_model
from seq2seqs import small_model

from keras_attention import Ensemble
from keras_attention import HardAttention
from keras_attention import LuongGeneral
from keras_attention import SequenceCrossentropy
from keras_attention import SequenceDistillation
from keras_attention import SequenceDistiller

DRAW = np.random.default_rng(0)
TEACHER, STUDENT = DRAW.normal(size=(2, 2, 3, 5))


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def wanted(temperature, mask=None):
    teacher = np.exp(log_softmax(TEACHER / temperature))
    losses = -(teacher * log_softmax(STUDENT / temperature)).sum(-1)
    mask = np.ones(losses.shape) if mask is None else mask
    return temperature**2 * (losses * mask).sum() / mask.sum()


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_agrees_with_the_formula(temperature):
    loss = SequenceDistillation(temperature)
    found = loss.compute_loss(TEACHER, STUDENT)
    assert float(to_numpy(found)) == pytest.approx(wanted(temperature), 1e-12)
    logs = map(log_softmax, (TEACHER, STUDENT))
    assert float(loss.compute_loss(*logs)) == pytest.approx(float(found), 1e-12)


def test_masked_steps_do_not_count():
    mask = np.array([[True, True, False], [True, False, False]])

    def masked(x, mask):
        layer = keras.layers.Identity()
        layer.compute_mask = lambda *_: ops.convert_to_tensor(mask)
        return layer(ops.convert_to_tensor(x, "float32"))

    plain = ops.convert_to_tensor(STUDENT, "float32")
    for pair in (
        (masked(TEACHER, mask), plain),
        (TEACHER.astype("float32"), masked(STUDENT, mask)),
    ):
        found = SequenceDistillation().compute_loss(*pair)
        assert float(to_numpy(found)) == pytest.approx(wanted(1, mask), 1e-5)
    pair = masked(TEACHER, np.zeros_like(mask)), plain
    assert float(to_numpy(SequenceDistillation().compute_loss(*pair))) == 0


def test_what_the_teacher_rules_out_counts_nothing():
    never = [[[0.0, -np.inf, 0.0]]]
    found = SequenceDistillation().compute_loss(*map(np.array, (never, never)))
    assert float(to_numpy(found)) == pytest.approx(np.log(2))


def test_the_student_alone_gets_a_gradient():
    loss = SequenceDistillation(2.0).compute_loss
    of_teacher, of_student = gradients(loss, [TEACHER, STUDENT])
    assert not np.any(of_teacher)
    shares = [np.exp(log_softmax(x / 2)) for x in (STUDENT, TEACHER)]
    np.testing.assert_allclose(
        of_student, 2 * (shares[0] - shares[1]) / 6, atol=1e-12
    )


@pytest.mark.parametrize("output", ["dense", "tied", "hard"])
def test_padding_of_a_distiller_does_not_count(output):
    """Twice the padding is the same loss."""
    options = {
        "dense": {},
        "tied": {"layer_size": 5, "tie_embeddings": True},
        "hard": {"attention": None, "output": HardAttention(LuongGeneral(), 4)},
    }[output]
    student = small_model(seed=4, **options)
    teacher = Ensemble([small_model(seed=3), small_model(seed=5)])
    distiller = SequenceDistiller(
        teacher, student, SequenceDistillation(), student_loss_weight=0.0
    )
    distiller.compile("adam", SequenceCrossentropy(), **EAGER)
    more = np.pad(TARGET, ((0, 0), (0, 3)))
    found = [
        distiller.evaluate(
            (SOURCE, x[:, :-1]), x[:, 1:], verbose=0, return_dict=True
        )["loss"]
        for x in (TARGET, more)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-5)
    logits = [to_numpy(x((SOURCE, TARGET[:, :-1]))) for x in (teacher, student)]
    teacher, student = map(log_softmax, logits)
    losses = -(np.exp(teacher) * student).sum(-1)
    mask = TARGET[:, 1:] != 0
    wanted = (losses * mask).sum() / mask.sum()
    assert found[0] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.slow
def test_a_distiller_trains_by_it():
    teacher, student = make_model(), make_model()
    distiller = SequenceDistiller(
        teacher, student, SequenceDistillation(), student_loss_weight=0.0
    )
    distiller.compile(
        keras.optimizers.Adam(0.05), SequenceCrossentropy(), **GRAPH
    )
    inputs = SOURCE, TARGET[:, :-1]
    teacher(inputs)
    before = [x.numpy() for x in teacher.weights]
    losses = distiller.fit(inputs, TARGET[:, 1:], epochs=8, verbose=0)
    losses = losses.history["loss"]
    assert losses[-1] < losses[0]
    for x, y in zip(teacher.weights, before, strict=True):
        np.testing.assert_array_equal(x.numpy(), y)


def test_other_arguments_are_refused():
    with pytest.raises(ValueError, match="`temperature` must be"):
        SequenceDistillation(0)
    with pytest.raises(ValueError, match=r"vocabulary.*3, 5\).*3, 4\)"):
        SequenceDistillation().compute_loss(TEACHER, STUDENT[..., 1:])
    loss = SequenceDistillation(3.0)
    again = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(loss)
    )
    assert again.get_config() == {"temperature": 3.0}
