"""RequiredPhrases: the best of all texts that contain them."""

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

from keras_attention.search import BeamSearch
from keras_attention.search import GreedySearch
from keras_attention.search import RequiredPhrases

CLASSES, LENGTH, ROWS = 5, 4, 4
PHRASES = {
    "one token": [[[4, 0]], [[1, 0]], [[0, 0]], [[2, 0]]],
    "a phrase": [[[4, 1]], [[1, 1]], [[4, 4]], [[2, 4]]],
    "two": [[[4, 1], [1, 0]], [[1, 1], [4, 0]], [[2, 0], [2, 0]], 2 * [[0, 0]]],
    "that overlap": [[[4, 1, 1], [1, 1, 4]], 2 * [[4, 4, 1]], 2 * [[1, 0, 0]]]
    * 2,
    "that cannot all be": [[[4, 1, 1], [4, 4, 4]]] * ROWS,
}
SETTINGS = {
    "plain": {},
    "penalties": {"length_penalty": 0.8, "coverage_penalty": 0.2},
    "limits": {"min_length": 3, "no_repeat_ngram_size": 2},
}


def given(name):
    phrases = np.array(PHRASES[name][:ROWS], "int32")
    start = np.where(phrases == 2, 1, phrases)  # 2 is the start id
    return np.where(phrases == 0, 0, start)


def contains(text, phrase):
    phrase = [x for x in phrase if x]
    places = range(len(text) - len(phrase) + 1)
    return any(list(text[i : i + len(phrase)]) == phrase for i in places)


def search(phrases, rules, beams, n_best=1, **options):
    inner = BeamSearch(
        beams,
        n_best,
        rules.length_penalty,
        rules.coverage_penalty,
        **rules.common,
    )
    return RequiredPhrases(inner, phrases)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        *((name, "plain") for name in PHRASES),
        ("two", "penalties"),
        ("a phrase", "limits"),
    ],
)
def test_with_all_beams_it_finds_the_best_that_contain_them(name, setting):
    rules = Rules(max_length=LENGTH, **SETTINGS[setting])
    tables = history_tables(3, ROWS, CLASSES, LENGTH)
    phrases = given(name)
    found = search(phrases, rules, 600, n_best=10)
    step, state = whole_history(*tables), root_state(range(ROWS))
    found = arrays(found(step, state, ROWS))
    for b in range(ROWS):
        texts = Row(*[x[b] for x in tables], rules).exhaustive()
        texts = [
            x for x in texts if all(contains(x.tokens, p) for p in phrases[b])
        ]
        check_texts(found, b, texts[:10])
    impossible = name == "that cannot all be"
    assert np.isneginf(found.scores[:, 0]).all() == impossible


@pytest.mark.parametrize("beams", [1, 2, 4, 9])
def test_few_beams_find_texts_that_contain_them(beams):
    """Whatever the model thinks of the phrases."""
    rng = np.random.default_rng(beams)
    log_probs = np.log(rng.dirichlet(np.full(30, 0.1), size=(8, 30)))
    log_probs = np.maximum(log_probs, -60)
    phrases = rng.integers(4, 30, (8, 3, 3)).astype("int32")
    phrases[:, 1, 1:] = 0
    phrases[::2, 2] = 0
    inner = BeamSearch(beams, max_length=12)
    table = ops.convert_to_tensor(log_probs)

    def step(tokens, state):
        rows = ops.reshape(state["row"][:, 0] * 30, (-1, 1)) + tokens
        flat = ops.reshape(table, (8 * 30, 30))
        return ops.take(flat, rows, axis=0), state, None

    state = {"row": np.arange(8, dtype="int32")[:, None]}
    found = arrays(RequiredPhrases(inner, phrases)(step, state, 8))
    assert np.isfinite(found.scores).all()
    for text, rows in zip(found.tokens[:, 0], phrases, strict=True):
        assert all(contains(text.tolist(), phrase) for phrase in rows)
    plain = arrays(inner(step, state, 8))
    better = plain.scores[:, 0] >= found.scores[:, 0] - 1e-6
    assert better.mean() > 0.5  # without a phrase it is a beam search


def test_a_likely_end_waits_for_the_phrases():
    said = np.log([0.02, 0.02, 0.02, 0.9, 0.02, 0.02])

    def step(tokens, state):
        shape = (*ops.shape(tokens), 6)
        return ops.broadcast_to(ops.convert_to_tensor(said), shape), state, None

    search = RequiredPhrases(BeamSearch(2, max_length=9), [[[4, 5], [1, 0]]])
    found = arrays(search(step, (), 1))
    assert found.lengths.tolist() == [[4]]
    np.testing.assert_allclose(found.scores[0], said[[4, 5, 1, 3]].sum())


def test_without_phrases_it_is_a_beam_search():
    rules = Rules(max_length=LENGTH)
    tables = history_tables(3, ROWS, CLASSES, LENGTH)
    step, state = whole_history(*tables), root_state(range(ROWS))
    none = np.zeros((ROWS, 1, 1), "int32")
    found = arrays(search(none, rules, 3, 2)(step, state, ROWS))
    wanted = arrays(BeamSearch(3, 2, max_length=LENGTH)(step, state, ROWS))
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)


def test_prefixes_count():
    tables = history_tables(3, ROWS, CLASSES, LENGTH)
    step, state = whole_history(*tables), root_state(range(ROWS))
    phrases = np.array([[[4, 1]]] * ROWS, "int32")
    prefix = np.array([[4], [1], [4], [0]], "int32")
    rules = Rules(max_length=LENGTH)
    found = search(phrases, rules, 600)(step, state, ROWS, prefix=prefix)
    found = arrays(found)
    for b in range(ROWS):
        row = Row(*[x[b] for x in tables], rules, prefix[b])
        texts = [x for x in row.exhaustive() if contains(x.tokens, [4, 1])]
        check_texts(found, b, texts[:1])


def test_each_row_has_its_phrases():
    tables = history_tables(3, ROWS, CLASSES, LENGTH)
    step, state = whole_history(*tables), root_state(range(ROWS))
    rules = Rules(max_length=LENGTH)
    for rows in (1, ROWS + 1):
        phrases = np.full((rows, 1, 1), 4)
        with pytest.raises(ValueError, match="a row for each source"):
            search(phrases, rules, 3)(step, state, ROWS)


def test_searches_with_other_phrases_share_a_program():
    one = RequiredPhrases(BeamSearch(3), [[[5, 6]]])
    other = RequiredPhrases(BeamSearch(3), [[[7, 0], [4, 4]]])
    assert one.program_key() == other.program_key()
    assert other.program_arguments()["phrases"].tolist() == [[[7, 0], [4, 4]]]
    again = RequiredPhrases.from_config(one.get_config())
    assert again.get_config() == one.get_config()
    assert RequiredPhrases(BeamSearch(4), [[[5]]]).program_key() != (
        one.program_key()
    )


@pytest.mark.parametrize(
    ("inner", "phrases", "message"),
    [
        (GreedySearch(), [[[5]]], "`search` must be an instance of BeamSearch"),
        (BeamSearch(2), [[5]], r"`phrases` must be ids \(B, C, L\)"),
        (BeamSearch(2), [[[0.5]]], r"`phrases` must be ids \(B, C, L\)"),
        (BeamSearch(2), [[[5, 3]]], "phrases with 2 or 3 in them"),
        (BeamSearch(2), [[[5, 0, 6]]], "with 0 before an id"),
        (BeamSearch(2), [[[5, -1]]], "negative ids"),
    ],
)
def test_what_cannot_be_required_is_refused(inner, phrases, message):
    with pytest.raises(ValueError, match=message):
        RequiredPhrases(inner, phrases)
