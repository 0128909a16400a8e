"""Diverse beam search, written from the public parts: so can yours be."""

import keras
import numpy as np
import pytest
from keras import ops
from naive import Row
from naive import Rules
from naive import check_texts
from tables import arrays
from tables import history_tables
from tables import root_state
from tables import whole_history

from keras_attention.search import AbstractSearch
from keras_attention.search import BeamSearch
from keras_attention.search import Generation
from keras_attention.search import begin_beams
from keras_attention.search import extend_beams
from keras_attention.search import loop_while
from keras_attention.search import select_beams
from keras_attention.search import take_beams


@keras.saving.register_keras_serializable(package="tests")
class DiverseBeamSearch(AbstractSearch):
    """Searches with groups of beams that avoid each other's tokens.

    Formula:

        choice = score - diversity * n(y_t)

    with `n` the number of beams in the groups before that took the same token
    at this step. Within a group it is a beam search, and the groups choose one
    after the other. The diversity counts in the choice alone: the scores are
    those of the model, with the length penalty of `BeamSearch`.

    Args:
        beam_size: How many hypotheses are kept and returned, in all.
        groups: How many groups they are split into.
        diversity: The strength of the penalty. Defaults to `0.5`.
        length_penalty: As in `BeamSearch`. Defaults to `0.0`.
        **limits: As in `AbstractSearch`.

    Reference:
        [Vijayakumar et al., 2016](https://arxiv.org/abs/1610.02424),
        Hamming diversity.
    """

    def __init__(
        self, beam_size, groups, diversity=0.5, length_penalty=0.0, **limits
    ):
        super().__init__(**limits)
        self.beam_size, self.groups = beam_size, groups
        self.diversity, self.length_penalty = diversity, length_penalty

    def call(self, step, state, batch_size, memory_mask=None, prefix=None):
        def grow(beams, found):
            penalty = self.length_penalty
            candidates = extend_beams(
                self, beams, found, prefix=prefix, length_penalty=penalty
            )
            best = self.choose(beams, candidates)
            return select_beams(self, beams, found, candidates, best)

        beams = loop_while(
            lambda beams: ops.any(beams.alive),
            lambda beams: grow(beams, step(beams.words, beams.state)),
            grow(*begin_beams(self, step, state, batch_size, self.groups)),
            self.max_length - 1,
        )
        _, order = ops.top_k(beams.scores, self.beam_size)
        found = beams.tokens, beams.scores, beams.lengths, beams.weights
        found = *found, beams.token_scores
        return Generation(
            *[None if x is None else take_beams(x, order) for x in found]
        )

    def choose(self, beams, candidates):
        """Let the groups choose in turn; returns numbers `(B, K)`."""
        size, count = self.beam_size // self.groups, candidates.ids.shape[-1]
        numbers, taken = [], ops.zeros_like(beams.words[:, :0])  # (B, 0)
        for first in range(0, self.beam_size, size):
            ids, scores, alive = (
                x[:, first : first + size]  # of this group
                for x in (candidates.ids, candidates.scores, beams.alive)
            )
            ids = ops.where(alive[..., None], ids, -1)  # has ended
            same = ops.equal(ids[..., None], taken[:, None, None])
            same = ops.sum(ops.cast(same, scores.dtype), axis=-1)
            flat = (-1, size * count)
            scores, best = ops.top_k(
                ops.reshape(scores - self.diversity * same, flat), size
            )
            best = ops.cast(best, "int32")  # (B, size)
            words = take_beams(ops.reshape(ids, flat), best)
            new = ops.logical_and(words >= 0, scores > -np.inf)
            words = ops.where(new, words, -2)  # which no id is equal to
            taken = ops.concatenate([taken, words], axis=1)
            numbers.append(best + first * count)
        return ops.concatenate(numbers, axis=1)

    def get_config(self):
        return {
            "beam_size": self.beam_size,
            "groups": self.groups,
            "diversity": self.diversity,
            "length_penalty": self.length_penalty,
            **super().get_config(),
        }


SETTINGS = {
    "plain": {},
    "length": {"length_penalty": 0.6},
    "minimum": {"min_length": 3, "length_penalty": 1.0},
    "forbidden": {"forbidden_ids": (1,)},
    "no bigram twice": {"no_repeat_ngram_size": 2},
    "one token": {"max_length": 1},
}
ROWS = 12


def draw(setting, seed=0):
    rules = Rules(**SETTINGS[setting])
    rng = np.random.default_rng([seed, len(setting)])
    tables = history_tables([seed, len(setting)], rows=ROWS, classes=5)
    tables[0][rng.random(tables[0].shape) < 0.3] = -np.inf
    prefix = rng.integers(0, 5, (ROWS, 2), "int32")
    prefix[::2] = 0  # every other row begins as it likes
    return rules, tables, prefix * (prefix[:, :1] > 0)


def run(rules, tables, prefix=None, **options):
    search = DiverseBeamSearch(
        length_penalty=rules.length_penalty, **rules.common, **options
    )
    step, state = whole_history(*tables), root_state(range(ROWS))
    return arrays(search(step, state, ROWS, prefix=prefix))


class TestAgainstTheDefinition:
    @pytest.mark.parametrize(
        ("setting", "groups"),
        [*((setting, 3) for setting in SETTINGS), ("length", 2), ("length", 6)],
    )
    def test_every_group_avoids_those_before(self, setting, groups):
        rules, tables, prefix = draw(setting, groups)
        options = {"groups": groups, "diversity": 1.5}
        found = run(rules, tables, prefix, beam_size=6, **options)
        for b in range(ROWS):
            row = Row(tables[0][b], tables[1][b], rules, prefix[b])
            check_texts(found, b, row.diverse_beam(6, **options))

    def test_one_group_is_beam_search(self):
        rules, tables, _ = draw("length")
        found = run(rules, tables, beam_size=4, groups=1)
        search = BeamSearch(4, 4, rules.length_penalty, **rules.common)
        step, state = whole_history(*tables), root_state(range(ROWS))
        want = arrays(search(step, state, ROWS))
        for x, y in zip(found, want, strict=True):
            np.testing.assert_array_equal(x, y)


def test_keras_serializes_it():
    search = DiverseBeamSearch(6, 3, 1.5, 0.6, max_length=9, end_id=4)
    config = keras.saving.serialize_keras_object(search)
    assert config["registered_name"] == "tests>DiverseBeamSearch"
    revived = keras.saving.deserialize_keras_object(config)
    assert isinstance(revived, DiverseBeamSearch)
    assert revived.get_config() == search.get_config()
    assert revived.get_config()["diversity"] == 1.5
