"""Shortlists: what is in a list, how one is trained, and its file."""

import pickle
import re

import keras
import numpy as np
import pytest
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import small_model

from keras_attention import BahdanauAttention
from keras_attention import LuongGeneral
from keras_attention import Shortlist
from keras_attention.outputs import shortlist as module
from keras_attention.outputs.shortlist import PairCounts

TABLE = np.array([[7, 7], [1, 0], [4, 9], [9, 5], [0, 0]])
ALWAYS = np.array([8, 2])
SIZE = 12


def listed(source, least=4, prefix=None, shortlist=None):
    shortlist = Shortlist(TABLE, ALWAYS) if shortlist is None else shortlist
    return keras.ops.convert_to_numpy(
        shortlist.ids(source, least, SIZE, prefix)
    )


# Lists.


def test_a_list_has_each_id_once_in_order():
    found = listed([[1, 2, 3], [4, 4, 0], [2, 2, 2]])
    assert found.dtype == np.int32
    assert found.tolist() == [
        [0, 1, 2, 3, 4, 5, 8, 9, *4 * [SIZE]],
        [0, 1, 2, 3, 8, *7 * [SIZE]],
        [0, 1, 2, 3, 4, 8, 9, *5 * [SIZE]],
    ]


def test_the_length_of_a_list_is_that_of_the_longest():
    assert listed([[1]], least=3).shape == (1, 3 + 2 + 2)
    assert listed([[1]], 3, [[0, 0]]).shape == (1, 3 + 2 + 2 + 2)
    assert listed([[1, 2, 3, 4]]).shape == (1, SIZE)


def test_words_of_a_prefix_are_listed():
    found = listed([[1], [3]], prefix=[[11, 8, 0], [99, -4, 10]])
    assert found.tolist() == [
        [0, 1, 2, 3, 8, 11, *5 * [SIZE]],
        [0, 1, 2, 3, 5, 8, 9, 10, *3 * [SIZE]],
    ]


def test_padding_lists_nothing():
    """Else a list would depend on the longest row of its batch."""
    assert TABLE[0].all()
    assert 7 not in listed([[1, 0, 0]])
    assert not Shortlist(TABLE, ALWAYS).table[0].any()


def test_what_was_given_is_copied_and_stays():
    table = TABLE.copy()
    shortlist = Shortlist(table, ALWAYS)
    np.testing.assert_array_equal(table, TABLE)
    with pytest.raises(ValueError, match="read-only"):
        shortlist.table[1] = 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"table": [1, 2]}, "table.shape=(2,)"),
        (
            {"table": np.zeros((0, 3), int)},
            "table.shape=(0, 3), which is empty",
        ),
        ({"table": [[1.0]]}, "table.dtype=float64"),
        ({"table": [[True]]}, "table.dtype=bool"),
        ({"table": [[2, -1]]}, "table from -1 to 2"),
        ({"table": [[2**31]]}, "table from 2147483648"),
        ({"always": 3}, "always.shape=()"),
        ({"always": [[3]]}, "always.shape=(1, 1)"),
        ({"always": ["a"]}, "always.dtype=<U1"),
        ({"always": [-3]}, "always from -3 to -3"),
    ],
)
def test_other_arguments_are_named(changes, said):
    with pytest.raises(ValueError, match=f"Received: {re.escape(said)}"):
        Shortlist(**{"table": TABLE, "always": ALWAYS, **changes})


def test_none_may_always_come():
    assert Shortlist([[0], [4]], []).always.shape == (0,)
    assert listed([[1]], 4, None, Shortlist([[0], [4]], [])).tolist() == [
        [0, 1, 2, 3, 4]
    ]


# Training.

BEFORE, AFTER = TARGET, np.array([[5, 6, 7, 3], [4, 3, 0, 0], [8, 4, 3, 0]])


def naive_counts(model, batches):
    """Add up the attention of one sentence after the other."""
    sums = np.zeros((WORDS, WORDS))
    for (source, before), after in batches:
        for x, y_in, y in zip(source, before, after, strict=True):
            x, real = x[x != 0], y != 0
            found = model.attend(x[None], y_in[None, real])
            found = [keras.ops.convert_to_numpy(w)[0] for w in found]
            for t, word in enumerate(y[real]):
                for i, from_word in enumerate(x):
                    sums[from_word, word] += np.mean([w[t, i] for w in found])
    return sums


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_training_counts_attention(several):
    attentions = [BahdanauAttention(5), LuongGeneral()]
    model = small_model(attentions if several else attentions[0])
    batches = [
        ((SOURCE, BEFORE), AFTER),
        ((SOURCE[::-1, :4], BEFORE[1:2].repeat(3, 0)), AFTER[[1, 1, 1]]),
    ]
    sums = naive_counts(model, batches)
    words = np.bincount(np.concatenate([AFTER, AFTER[[1, 1, 1]]]).ravel())
    frequent = sorted(range(1, len(words)), key=lambda y: -words[y])[:2]
    found = Shortlist.train(model, iter(batches), candidates=3, always=2)
    assert found.always.tolist() == frequent == [3, 4]
    sums[:, frequent] = 0
    for row, of_source in zip(found.table, sums, strict=True):
        best = [y for y in np.argsort(-of_source)[:3] if of_source[y] > 0]
        assert row.tolist() == best + [0] * (3 - len(best))
    assert found.table.any()


@pytest.mark.slow
def test_fewer_words_than_asked_for_are_all():
    batches = [((SOURCE, BEFORE), AFTER, np.ones(3))]  # weights of samples
    found = Shortlist.train(small_model(), batches, always=100)
    assert sorted(found.always) == [3, 4, 5, 6, 7, 8]
    assert not found.table.any()
    found = Shortlist.train(small_model(), batches, always=0)
    assert found.always.shape == (0,)
    assert found.table.shape == (WORDS, 30)
    assert set(found.table[8][found.table[8] > 0]) >= {4, 8, 3}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: small_model(None), "attention=None"),
        (lambda: small_model(copying=True), "copying=True"),
    ],
)
def test_a_model_without_attention_to_ids_is_refused(model, said):
    with pytest.raises(ValueError, match=f"Received: {said}.*word aligner"):
        Shortlist.train(model(), [((SOURCE, BEFORE), AFTER)])


def test_batches_that_cannot_be_counted_are_named():
    model = small_model()
    with pytest.raises(ValueError, match=r"batches with tokens.*only once"):
        Shortlist.train(model, [])
    with pytest.raises(ValueError, match="source ids from 0 to 8"):
        Shortlist.train(model, [((SOURCE + 1, BEFORE), AFTER)])
    with pytest.raises(ValueError, match="target ids from 0 to 8"):
        Shortlist.train(model, [((SOURCE, BEFORE), AFTER + 5)])
    for name, least in {"candidates": 0, "always": -1}.items():
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            Shortlist.train(model, [], **{name: least})


# Its file.


def test_save_and_load(tmp_path):
    shortlist = Shortlist(TABLE, ALWAYS)
    shortlist.save(tmp_path / "deep" / "x.npz")
    shortlist.save(str(tmp_path / "deep" / "x.npz"))
    assert [x.name for x in (tmp_path / "deep").iterdir()] == ["x.npz"]
    copies = [
        Shortlist.load(str(tmp_path / "deep" / "x.npz")),
        pickle.loads(pickle.dumps(shortlist)),
    ]
    for again in copies:
        np.testing.assert_array_equal(again.table, shortlist.table)
        np.testing.assert_array_equal(again.always, shortlist.always)
        assert again.table.dtype == np.int32


def test_other_content_is_named(tmp_path):
    file = tmp_path / "x.npz"
    contents = [
        {"table": TABLE},
        {"table": TABLE + 0.5, "always": ALWAYS},
        {"table": np.array([[{}]]), "always": ALWAYS},  # pickled
    ]
    for content in contents:
        np.savez(file, **content)
        with pytest.raises(ValueError, match=r"with `save`.*x\.npz, which"):
            Shortlist.load(file)


# Sums of attention between words, from which it is made.


SIZES = SOURCES, TARGETS = 7, 11


def draw_batches(count=4):
    draw = np.random.default_rng(0)
    for _ in range(count):
        source = draw.integers(0, SOURCES, (3, 5))
        target = draw.integers(0, TARGETS, (3, 4))
        weights = draw.random((3, 4, 5)).astype("float32")
        yield source, target, np.where(weights < 0.2, 0, weights)


def naive_table(batches, candidates, without=()):
    """Rank by a dense matrix of sums, word by word."""
    sums = np.zeros(SIZES)
    for source, target, weights in batches:
        for row, t, i in np.ndindex(weights.shape):
            sums[source[row, i], target[row, t]] += weights[row, t, i]
    sums[0] = sums[:, 0] = sums[:, [*without]] = 0
    table = np.zeros((SOURCES, candidates), int)
    for row, of_source in zip(table, sums, strict=True):
        order = np.argsort(-of_source, kind="stable")[:candidates]
        order = order[of_source[order] > 0]
        row[: len(order)] = order
    return table


def count(batches, candidates):
    counts = PairCounts(*SIZES, candidates)
    for batch in batches:
        counts.add(*batch)
    return counts


@pytest.mark.parametrize("candidates", [1, 3, 20])
@pytest.mark.parametrize("held", [0, 50, 2**22])
def test_the_best_are_those_of_a_dense_matrix(candidates, held, monkeypatch):
    monkeypatch.setattr(module, "HELD", held)
    found = count(draw_batches(), candidates).best(np.zeros(0, int))
    wanted = naive_table(draw_batches(), min(candidates, TARGETS))
    assert found.dtype == np.int32
    assert found.shape == (SOURCES, candidates)
    np.testing.assert_array_equal(found[:, :TARGETS], wanted)
    assert not found[:, TARGETS:].any()


def test_few_pairs_are_kept(monkeypatch):
    """Those that are asked for stay, if they were ahead all the time."""
    monkeypatch.setattr(module, "HELD", 0)
    monkeypatch.setattr(module, "ROOM", 4)
    counts = PairCounts(3, 1000, 2)
    draw = np.random.default_rng(0).integers
    for _ in range(20):
        target = draw(10, 1000, (8, 6))
        target[:, :2] = 5, 6
        source = draw(1, 3, (8, 2))
        counts.add(source, target, np.ones((8, 6, 2)))
        assert len(counts._pairs) <= 4 * 2 * 3
    table = counts.best(np.zeros(0, int))
    assert table[1:].tolist() == [[5, 6], [5, 6]]
