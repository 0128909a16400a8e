import letters
import numpy as np
import pytest
import reverse_and_sort as example
from mechanisms import ALIGNMENTS
from mechanisms import ALONE
from mechanisms import MECHANISMS
from mechanisms import public

import keras_attention as ka

DONE = {"copy": list, "reverse": lambda x: x[::-1], "sort": sorted}
SENTENCES = letters.make_sentences(300, seed=0)


def test_no_letter_comes_twice_and_no_sentence():
    rows = SENTENCES.tolist()
    assert len({tuple(row) for row in rows}) == 300
    assert all(len(set(row)) == letters.LENGTH for row in rows)
    known = range(letters.FIRST, letters.VOCABULARY_SIZE)
    assert {id for row in rows for id in row} == set(known)


@pytest.mark.parametrize("name", letters.TASKS)
def test_tasks_are_done_right(name):
    task = letters.make_task(name, SENTENCES)
    np.testing.assert_array_equal(task.source, SENTENCES)
    for source, target, places in zip(*task, strict=True):
        done = DONE[name](source.tolist())
        assert target.tolist() == [letters.START, *done]
        assert [source[i] for i in places] == done


def test_all_there_is_is_compared():
    """And tested in pairs: both are made from the public names."""
    scores = {type(x) for x in example.scores(8).values()}
    tested = {type(make("softmax")) for make in MECHANISMS.values()}
    tested |= {type(make()) for make in ALONE.values()}
    assert scores == tested == {*public(ka.AbstractAttention).values()}
    chosen = [x.alignment for x in example.alignments(8).values()]
    assert {x for x in chosen if isinstance(x, str)} == {
        "sparsemax",
        "entmax15",
    }
    kinds = {type(x) for x in chosen} - {str}
    assert kinds == {type(x) for x in ALIGNMENTS.values()} - {str}
    assert kinds == {*public(ka.AbstractAlignment).values()}


@pytest.mark.slow
def test_it_runs(tmp_path, capsys):
    results = example.main(quick=True, output=tmp_path)
    assert list(results) == ["GaussianMixture", "LocalPredictive"]
    forwards = results["GaussianMixture"]
    assert forwards["copy"].looks > 2 * forwards["reverse"].looks
    picture = tmp_path / "reverse_and_sort.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "reverse: learned by none" in printed
    assert "ms/step" in printed
    assert printed.endswith(f"\nPicture: {picture}\n")
