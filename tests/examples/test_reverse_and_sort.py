import pytest
import reverse_and_sort as example
from mechanisms import ALIGNMENTS
from mechanisms import ALONE
from mechanisms import MECHANISMS
from mechanisms import public

import keras_attention as ka


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
