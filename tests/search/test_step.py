"""step: what a search is given, and what its step returns, is checked."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.search import Sampling

SEARCHES = {
    "greedy": GreedySearch,
    "beam": lambda **options: BeamSearch(3, **options),
    "sampling": lambda **options: Sampling(seed=0, **options),
}
every_search = pytest.mark.parametrize("name", SEARCHES)


def search(name, step, state=(), rows=2, **options):
    return SEARCHES[name](max_length=4, **options)(step, state, rows)


def returns(*found):
    """A step that returns the same, whatever it is asked."""
    return lambda *_: found


def model(classes=6, words=2):
    """A step whose shapes are right."""

    def step(tokens, state):
        shape = ops.shape(tokens)
        return ops.zeros((*shape, classes)), state, ops.ones((*shape, words))

    return step


@every_search
class TestIds:
    @pytest.mark.parametrize("option", ["start_id", "end_id"])
    @pytest.mark.parametrize("value", [6, 1000])
    def test_refuses_ids_outside_the_vocabulary(self, name, option, value):
        match = f"`{option}` must be an id of the model, from 0 to 5"
        match += f".*{option}={value}"
        with pytest.raises(ValueError, match=match):
            search(name, model(), **{option: value})

    def test_refuses_forbidden_ids_outside_the_vocabulary(self, name):
        match = r"`forbidden_ids`.*forbidden_ids=\[1, 6\]"
        with pytest.raises(ValueError, match=match):
            search(name, model(), forbidden_ids=[1, 6])

    def test_refuses_the_defaults_where_the_model_has_others(self, name):
        match = (
            "`end_id`.*0 to 2.*end_id=3.*Pass the ids of the model's tokenizer"
        )
        with pytest.raises(ValueError, match=match):
            search(name, model(classes=3))

    def test_takes_the_first_id_and_the_last(self, name):
        options = {"start_id": 0, "end_id": 5, "forbidden_ids": [0, 4]}
        assert search(name, model(), **options).tokens.shape[0] == 2


ZEROS = np.zeros((2, 1, 6))
SHAPES = [(2, 6), (6,), (2, 1, 1, 6), (1, 2, 6), (3, 1, 6), (2, 4, 6)]
LOG_PROBS = r"`step`.*log_probs of shape \(B, K, V\), here \(2, 1, V\)"
WEIGHTS = r"weights of shape \(B, K, Tv\)"
STATE = r"`state` must contain tensors of sha"


@pytest.mark.parametrize(
    ("step", "state", "match"),
    [
        *((x, (), "must be a function") for x in (None, "model", ZEROS)),
        (lambda *_: ZEROS, (), "`step` must return log_probs, st"),
        (lambda *_: None, (), "`step` must return log_probs, st"),
        (returns(ZEROS, ()), (), "`step` must return log_probs, st"),
        *((returns(np.zeros(x), (), None), (), LOG_PROBS) for x in SHAPES),
        *((returns(ZEROS, (), np.zeros(x)), (), WEIGHTS) for x in SHAPES),
        *(
            (model(), {"h": ZEROS, "c": np.zeros(x)}, STATE)
            for x in [(), (2,), (2, 8), (2, 2, 8)]
        ),
        (model(), [np.zeros((5, 1, 8))], r"leaf.shape=\(5, 1, 8\)"),
    ],
)
def test_refuses_other_steps_and_states(step, state, match):
    with pytest.raises(ValueError, match=match):
        search("greedy", step, state)


@pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="its loop says it first"
)
def test_refuses_one_beam_where_there_are_more():
    with pytest.raises(ValueError, match=r"here \(2, 3, V\)"):
        search("beam", returns(ZEROS, (), None))


def test_takes_numpy_and_lists_and_what_is_no_tensor():
    values = [ZEROS, (), np.ones((2, 1, 7))]
    found = search("greedy", lambda *_: values)
    assert tuple(found.weights.shape) == (2, 1, 4, 7)
    state = {"no": None, "count": np.zeros((2, 1), "int32")}
    assert search("greedy", model(), state).tokens.shape[0] == 2


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="tf.function"
)
class TestInAGraph:
    def trace(self, classes, **options):
        import tensorflow as tf

        @tf.function(
            autograph=False, input_signature=[tf.TensorSpec((None, classes))]
        )
        def run(log_probs):
            def step(tokens, state):
                count = tf.shape(tokens)[1]
                again = tf.repeat(log_probs[:, None], count, axis=1)
                return again, state, None

            return search("greedy", step, (), tf.shape(log_probs)[0], **options)

        return run

    def test_ids_are_checked_before_it_runs(self):
        with pytest.raises(ValueError, match="`end_id` must be an id"):
            self.trace(6, end_id=6).get_concrete_function()

    def test_nothing_is_said_of_an_unknown_vocabulary(self):
        run = self.trace(None, end_id=6)
        tokens = run(np.zeros((2, 6), "float32")).tokens.numpy()
        assert tokens.shape[0] == 2
