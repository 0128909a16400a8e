"""Which searches share a compiled program, and which one is forgotten."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest
from generations import assert_same
from generations import to_numpy
from keras import ops

from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import Sampling
from keras_attention.models import shared_programs
from keras_attention.models.shared_programs import SharedPrograms
from keras_attention.ops import fast_path

BACKEND = keras.backend.backend()
WORDS = 20


class Table:
    """A model that is a table, and lists the searches that it traces."""

    compiled = jit_compile = False
    changes, variables = 0, ()
    encoder = keras.layers.Identity()

    def __init__(self):
        numbers = np.random.default_rng(0).normal(size=(WORDS, WORDS))
        self.log_probs = ops.log_softmax(2 * numbers.astype("float32"))
        self.searches = []
        self.programs = SharedPrograms(self)

    def _generate(self, source, search, prefix, *_):
        self.searches.append(search)

        def step(tokens, state):
            found = ops.take(self.log_probs, tokens, axis=0)
            shape = (*ops.shape(tokens), source.shape[1])
            return found, state, ops.ones(shape)

        return search(step, (), source.shape[0], prefix=prefix)

    def plain(self, search):
        return self._generate(SOURCE, search, None)

    def generate(self, search):
        return self.programs.generate(SOURCE, search, None)


SOURCE = ops.ones((2, 8), "int32")
SHARED = {
    "limits": [GreedySearch(n) for n in (6, 5, 4, 3)],
    "limits of beams": [
        BeamSearch(3, 2, length_penalty=1.0, max_length=n) for n in (6, 4, 3)
    ],
    "seeds": [Sampling(seed=n, max_length=4) for n in (0, 1, 0)],
    "temperatures": [
        Sampling(t, seed=0, max_length=4, top_k=9) for t in (1.0, 0.1, 3.0)
    ],
}
needs_tracing = pytest.mark.skipif(
    BACKEND == "torch", reason="torch compiles nothing"
)


@pytest.mark.slow
@pytest.mark.parametrize("searches", SHARED.values(), ids=SHARED)
def test_what_differs_in_numbers_is_compiled_once(searches):
    model = Table()
    copies = [type(x)(**x.get_config()) for x in searches]
    plain = [model.plain(x) for x in copies for _ in range(2)]
    model.searches.clear()
    found = [model.generate(x) for x in searches for _ in range(2)]
    assert len(model.searches) == (len(found) if BACKEND == "torch" else 1)
    for x, y in zip(found, plain, strict=True):
        assert_same(x, y)
    assert len({to_numpy(x)[0].tobytes() for x in found}) > 1


@pytest.mark.slow
def test_what_comes_first_has_no_room_to_spare():
    model = Table()
    for length in (5, 9, 11, 10, 12):
        found = model.generate(BeamSearch(2, max_length=length))
        assert found.tokens.shape == (2, 1, length)
        assert found.weights.shape == (2, 1, length, 8)
    assert {x.max_length for x in model.searches} == {5, 12}


def test_a_large_room_is_left_to_long_texts():
    model = Table()
    for length in (100, 50, 49):
        model.generate(GreedySearch(length))
    assert {x.max_length for x in model.searches} == {100, 64}


@pytest.mark.slow
@needs_tracing
def test_the_program_that_was_not_used_for_longest_is_forgotten(monkeypatch):
    monkeypatch.setattr(shared_programs, "KEPT", 2)
    model = Table()
    for end in (4, 5, 4, 6, 4, 5):
        model.generate(GreedySearch(2, end_id=end))
    assert [x.end_id for x in model.searches] == [4, 5, 6, 5]


@pytest.mark.slow
def test_threads_compile_a_search_once(monkeypatch):
    def slow(*arguments):
        time.sleep(0.05)
        return fast_path(*arguments)

    def work(n):
        together.wait()
        search = GreedySearch(4 - n % 2, end_id=4 + n % 3)
        return search, model.generate(search)

    monkeypatch.setattr(shared_programs, "fast_path", slow)
    model, together = Table(), threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    traced = [(x.end_id, x.max_length) for x in model.searches]
    for search, result in found:
        assert_same(result, model.plain(search))
    assert {end for end, _ in traced} == {4, 5, 6}
    assert BACKEND == "torch" or len(set(traced)) == len(traced)


class Beginning(GreedySearch):
    """Has an option that its config does not know."""

    def __init__(self, word):
        super().__init__(max_length=2)
        self.word = word

    def call(self, step, state, batch_size, memory_mask=None, prefix=None):
        word = ops.full((batch_size, 1), self.word, "int32")
        return super().call(step, state, batch_size, memory_mask, word)


class Weighted(GreedySearch):
    """Has an option whose text leaves most of it out."""

    def __init__(self, word):
        super().__init__(max_length=2)
        self.prior = np.zeros(2000)
        self.prior[900 + word] = 1

    def call(self, step, state, batch_size, memory_mask=None, prefix=None):
        word = int(np.argmax(self.prior)) - 900
        return Beginning(word).call(step, state, batch_size)

    def get_config(self):
        return {"prior": self.prior, **super().get_config()}


def beginning(word):
    def search(step, state, rows, memory_mask=None, prefix=None):
        return Beginning(word)(step, state, rows)

    return search


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Beginning, Weighted, beginning])
def test_options_that_are_no_plain_values_share_nothing(kind):
    model = Table()
    for word in (5, 6):  # each search dies before the next
        found = model.generate(kind(word))
        assert to_numpy(found)[0][:, 0, 0].tolist() == [word, word]


def test_a_subclass_has_its_options_as_numbers():
    class Reading(GreedySearch):
        def call(self, *args, **kwargs):
            read.append(range(self.max_length))
            return super().call(*args, **kwargs)

    model, read = Table(), []
    for n in (4, 2):
        assert model.generate(Reading(n)).tokens.shape == (2, 1, n)
        assert read[-1] == range(n)
