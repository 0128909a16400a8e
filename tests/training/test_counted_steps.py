"""CountedSteps: counts, passes by, and leaves no trace."""

import keras
import pytest

from keras_attention.training.counted_steps import CountedSteps

ON_TORCH = keras.backend.backend() == "torch"


class Model:
    """Has what `CountedSteps.of` changes."""

    steps_per_execution = 2

    def __init__(self):
        self.trained = []
        self.train_function = self.train

    def train(self, source):
        step = source if ON_TORCH else [next(source), next(source)]
        self.trained.append(step)
        return {"loss": sum(step)}


@pytest.fixture
def model():
    return Model()


def fit(steps, source, count):
    """Take steps as `fit` does."""
    steps.begin_epoch()
    found = []
    for _ in range(count):
        given = [next(source), next(source)] if ON_TORCH else source
        found.append(steps(given)["loss"])
    return found


def passing(steps, done, read, **options):
    options = {"trains_last": False, "then": lambda: None, **options}
    steps.pass_by(done, read, {"loss": -1}, **options)


def test_counts_what_is_done_and_read(model):
    begun = []
    steps = CountedSteps.of(model, lambda: begun.append(steps.read))
    source = iter(range(8))
    assert fit(steps, source, 2) == [1, 5]
    assert (steps.done, steps.read, steps.logs) == (2, 2, {"loss": 5})
    fit(steps, source, 2)  # the same data goes on
    assert (steps.done, steps.read) == (2, 2 if ON_TORCH else 4)
    fit(steps, iter(range(8)), 3)
    assert (steps.done, steps.read) == (3, 3)
    assert begun == [0] * (3 if ON_TORCH else 2)


def test_passes_by(model):
    steps = CountedSteps.of(model, lambda: None)
    passing(steps, 2, 2)
    assert fit(steps, iter(range(8)), 4) == [-1, -1, 9, 13]
    assert model.trained == [[4, 5], [6, 7]]
    assert (steps.done, steps.read) == (4, 4)


def test_trains_the_last_if_asked(model):
    steps = CountedSteps.of(model, lambda: None)
    passing(steps, 2, 2, trains_last=True)
    assert fit(steps, iter(range(8)), 3) == [-1, -1, 9]
    assert model.trained == [[2, 3], [4, 5]]


@pytest.mark.skipif(ON_TORCH, reason="torch's fit reads the batches itself")
@pytest.mark.parametrize("done", [0, 1])
def test_drops_what_earlier_epochs_read(model, done):
    heard = []
    steps = CountedSteps.of(model, lambda: heard.append("begin"))
    passing(steps, done, 3, then=lambda: heard.append("reached"))
    found = fit(steps, iter(range(10)), 2)
    assert found == ([13, 17] if done == 0 else [-1, 13])
    assert heard == ["begin", "reached"]
    assert steps.read == 5 if done == 0 else 4


@pytest.mark.skipif(ON_TORCH, reason="torch's fit reads the batches itself")
def test_data_that_ends_early_is_an_error(model):
    steps = CountedSteps.of(model, lambda: None)
    passing(steps, 3, 3)
    with pytest.raises(ValueError, match="data that ends before"):
        fit(steps, iter(range(4)), 3)


def test_states_of_jax_pass_through(model):
    model.train_function = lambda state, _: ({"loss": 7}, state + 1)
    steps = CountedSteps.of(model, lambda: None)
    passing(steps, 1, 1)
    source = iter(range(8))
    assert steps(5, source) == ({"loss": -1}, 5)
    assert steps(5, source) == ({"loss": 7}, 6)


def test_takes_the_place_of_another(model):
    first = CountedSteps.of(model, lambda: None)
    second = CountedSteps.of(model, lambda: None)
    assert model.train_function is second
    assert second.run == first.run == model.train
