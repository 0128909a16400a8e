"""Sampling: the distribution that was asked for, and nothing outside of it."""

import copy
import pickle

import keras
import numpy as np
import pytest
from naive import Row
from naive import Rules
from naive import Text
from naive import check_texts
from tables import arrays
from tables import first_order
from tables import history_tables
from tables import random_tables
from tables import root_state
from tables import rows_state
from tables import whole_history
from tiers import some

from keras_attention.backend import ops
from keras_attention.search import GreedySearch
from keras_attention.search import Sampling
from keras_attention.search import draw_tokens

BACKEND = keras.backend.backend()


def constant(probabilities):
    """The step of a model that always says the same."""
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.array(probabilities))

    def step(tokens, state):
        shape = (*ops.shape(tokens), len(probabilities))
        return ops.broadcast_to(log_probs, shape), state, None

    return step


def pickled(x):
    return pickle.loads(pickle.dumps(x))


def draw(probabilities, count=20000, **options):
    """Draw one token, many times, and count."""
    search = Sampling(max_length=1, seed=1, **options)
    found = arrays(search(constant(probabilities), (), count))
    return np.bincount(found.tokens.ravel(), minlength=len(probabilities))


def check_counts(counts, probabilities):
    """Chi-square, at 1 in 10,000 for up to 7 degrees of freedom."""
    want = np.array(probabilities) / np.sum(probabilities) * counts.sum()
    assert (counts[want == 0] == 0).all()
    real = want > 0
    assert (((counts - want) ** 2)[real] / want[real]).sum() < 29.9


PROBABILITIES = np.array([0.1, 0.25, 0.0, 0.3, 0.05, 0.2, 0.1])


class TestDistribution:
    def test_is_the_model_s(self):
        check_counts(draw(PROBABILITIES), PROBABILITIES)

    @pytest.mark.parametrize("temperature", [0.5, 2.0])
    def test_temperature(self, temperature):
        counts = draw(PROBABILITIES, temperature=temperature)
        check_counts(counts, PROBABILITIES ** (1 / temperature))

    def test_top_k(self):
        kept = np.where(PROBABILITIES >= 0.2, PROBABILITIES, 0)
        check_counts(draw(PROBABILITIES, top_k=3), kept)
        check_counts(draw(PROBABILITIES, top_k=99), PROBABILITIES)

    @pytest.mark.parametrize(
        ("top_p", "least"), [(0.29, 0.3), (0.31, 0.25), (0.7, 0.2), (0.8, 0.1)]
    )
    def test_top_p_keeps_the_token_that_crosses_it(self, top_p, least):
        kept = np.where(PROBABILITIES >= least, PROBABILITIES, 0)
        if top_p == 0.8:
            kept[6] = 0.0  # a tie, and one of the two is enough
        counts = draw(PROBABILITIES, top_p=top_p)
        if top_p == 0.8:  # the two together: torch takes either of them
            counts[[0, 6]] = sorted(counts[[0, 6]], reverse=True)
        check_counts(counts, kept)

    def test_top_p_comes_after_temperature_and_top_k(self):
        """Of 0.3 0.25 0.2, squared and normalized: 0.47 0.32 0.21."""
        options = {"top_k": 3, "temperature": 0.5}
        square = PROBABILITIES**2
        two = np.where(PROBABILITIES >= 0.25, square, 0)
        check_counts(draw(PROBABILITIES, top_p=0.78, **options), two)
        three = np.where(PROBABILITIES >= 0.2, square, 0)
        check_counts(draw(PROBABILITIES, top_p=0.81, **options), three)

    @pytest.mark.parametrize(
        ("options", "kept"),
        [
            ({}, [0.2, 0.15, 0.05, 0.0, 0.1]),
            ({"top_k": 2}, [0.2, 0.15, 0.0, 0.0, 0.0]),
            ({"top_p": 0.8}, [0.2, 0.15, 0.0, 0.0, 0.1]),
        ],
    )
    def test_what_is_forbidden_is_not_drawn(self, options, kept):
        """And the cuts are made in what is left."""
        counts = draw([0.2, 0.15, 0.05, 0.5, 0.1], forbidden_ids=[3], **options)
        check_counts(counts, kept)

    def test_texts_come_as_often_as_they_should(self):
        """Whole texts of a model with a memory, against their exact p."""
        tables, weights = history_tables(0, classes=4, length=2)
        texts = Row(tables[0], weights[0], Rules(max_length=2)).exhaustive()
        count = 20000
        step = whole_history(np.repeat(tables, count, axis=0))
        search = Sampling(seed=2, max_length=2)
        found = arrays(search(step, root_state(range(count)), count))
        counts = np.array(
            [
                (found.tokens[:, 0] == np.pad(x.tokens, (0, 2 - len(x.tokens))))
                .all(-1)
                .sum()
                for x in texts
            ]
        )
        want = count * np.exp([x.score for x in texts])
        assert counts.sum() == count
        common = want > 5
        chi = ((counts - want) ** 2 / want)[common].sum()
        assert chi < 44.3  # 1 in 10,000 at 15 degrees of freedom

    def test_a_temperature_near_zero_is_greedy(self):
        assert draw(PROBABILITIES, count=100, temperature=1e-30)[3] == 100


class TestTexts:
    def test_top_k_of_one_is_greedy(self):
        tables, weights = random_tables(1, 0, rows=8)
        step, state = first_order(tables, weights), rows_state(range(8))
        options = {"max_length": 7, "min_length": 3, "forbidden_ids": [4]}
        one = arrays(Sampling(top_k=1, **options)(step, state, 8))
        greedy = arrays(GreedySearch(**options)(step, state, 8))
        for x, y in zip(one, greedy, strict=True):
            np.testing.assert_array_equal(x, y)

    def test_scores_are_the_model_s_own(self):
        tables = history_tables(1, rows=50)
        rules = Rules(no_repeat_ngram_size=2)
        prefix = np.random.default_rng(0).integers(0, 3, (50, 1), "int32")
        search = Sampling(0.3, top_p=0.9, seed=3, **rules.common)
        step = whole_history(*tables)
        found = arrays(search(step, root_state(range(50)), 50, prefix=prefix))
        for b in range(50):
            row = Row(*[x[b] for x in tables], rules, prefix[b])
            text = Text([], [], [])
            for token in found.tokens[b, 0, : found.lengths[b, 0]]:
                longer = {x.tokens[-1]: x for x in row.extend(text)}
                text = longer[token]  # and nothing that is forbidden
            check_texts(found, b, [text])


class TestSeed:
    def sample(self, search, batch_size=3):
        step = constant([0.25, 0.25, 0.5, 0.0])
        return arrays(search(step, (), batch_size)).tokens.tolist()

    @pytest.mark.slow
    def test_calls_differ(self):
        search = Sampling(seed=5, max_length=30)
        assert self.sample(search) != self.sample(search)

    @pytest.mark.slow
    def test_same_seed_same_texts_call_by_call(self):
        one, other = (Sampling(seed=5, max_length=30) for _ in range(2))
        for _ in range(2):
            assert self.sample(one) == self.sample(other)
        revived = Sampling.from_config(one.get_config())
        fresh = Sampling(seed=5, max_length=30)
        assert self.sample(revived) == self.sample(fresh)

    @pytest.mark.slow
    def test_other_seeds_other_texts(self):
        found = [
            self.sample(Sampling(seed=seed, max_length=30))
            for seed in (1, 2, None, None)
        ]
        assert len({str(x) for x in found}) == 4

    @pytest.mark.slow
    @pytest.mark.skipif(BACKEND != "tensorflow", reason="tf.function")
    @pytest.mark.parametrize("xla", some([False, True], 1))
    def test_in_a_tensorflow_graph(self, xla):
        import tensorflow as tf

        def compiled():
            sampling = Sampling(seed=5, max_length=30)
            return tf.function(
                lambda n: sampling(constant([0.25, 0.25, 0.5, 0.0]), (), n),
                autograph=False,
                jit_compile=xla,
                input_signature=[tf.TensorSpec((), "int32")],
            )

        one, other = compiled(), compiled()
        eager = Sampling(seed=5, max_length=30)
        seen = []
        for size in (3, 3, 5):
            seen.append(arrays(one(size)).tokens.tolist())
            assert arrays(other(size)).tokens.tolist() == seen[-1]
            if not xla:  # which has random numbers of its own
                assert self.sample(eager, size) == seen[-1]
        assert seen[0] != seen[1]
        assert [len(x) for x in seen] == [3, 3, 5]

    @pytest.mark.skipif(BACKEND != "jax", reason="jax.jit")
    def test_under_jax_jit(self):
        import jax

        eager, compiled = (Sampling(seed=5, max_length=30) for _ in range(2))
        seed = compiled.seed_generator.state

        @jax.jit
        def search(value):
            with keras.StatelessScope([(seed, value)]) as scope:
                found = compiled(constant([0.25, 0.25, 0.5, 0.0]), (), 3)
            return found, scope.get_current_value(seed)

        value = seed.value
        for _ in range(2):
            found, value = search(value)
            assert arrays(found).tokens.tolist() == self.sample(eager)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_begins_with_the_seed(copied):
    step = constant(PROBABILITIES)
    first = Sampling(0.7, top_k=4, seed=1, max_length=9, forbidden_ids=[4])
    wanted = [arrays(first(step, (), 5)).tokens for _ in range(2)]
    twin = copied(first)
    assert twin.get_config() == first.get_config()
    for tokens in wanted:
        np.testing.assert_array_equal(arrays(twin(step, (), 5)).tokens, tokens)


def test_no_token_of_probability_zero():
    rng = np.random.default_rng(0)
    probs = rng.random((200, 1, 1000)) ** 8
    probs *= rng.random(probs.shape) < 0.5
    probs[:, :, [0, -1]] = 0
    with np.errstate(divide="ignore"):
        log_probs = np.log(probs / probs.sum(-1, keepdims=True))
    for luck in (0.0, 0.5, 1 - 2**-24, 1.0):
        for options in ({}, {"top_k": 600}, {"top_p": 0.999999}):
            tokens = draw_tokens(
                ops.convert_to_tensor(log_probs, "float32"),
                ops.full((200, 1, 1), luck, "float32"),
                **options,
            )
            drawn = ops.convert_to_numpy(tokens)
            taken = np.take_along_axis(probs[:, 0], drawn, axis=-1)
            assert (taken > 0).all()


def test_rounding_of_sums_draws_none_either(monkeypatch):
    """Where sums are taken in parallel, they may rise over a zero."""
    sums = np.array([[[0.5, 0.501, 1.001]]], "float32")
    monkeypatch.setattr(ops, "cumsum", lambda *_, **__: sums)
    log_probs = np.array([[[0.0, -np.inf, 0.0]]], "float32")
    tokens = draw_tokens(
        ops.convert_to_tensor(log_probs), ops.full((1, 1, 1), 0.4998)
    )
    assert ops.convert_to_numpy(tokens).tolist() == [[2]]


def test_nothing_is_drawn_where_there_is_nothing():
    log_probs = ops.full((2, 1, 5), -np.inf, "float32")
    for options in ({}, {"top_k": 2}, {"top_p": 0.5}):
        tokens = draw_tokens(log_probs, ops.zeros((2, 1, 1)), **options)
        drawn = ops.convert_to_numpy(tokens)
        assert drawn.shape == (2, 1)
        assert ((drawn >= 0) & (drawn < 5)).all()
