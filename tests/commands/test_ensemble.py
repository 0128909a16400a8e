"""`ensemble` and `average`: several saved translators as one."""

import numpy as np
import pytest
from samples import to_numpy
from seq2seqs import WORDS
from seq2seqs import small_model
from shell import shell

from keras_attention import CharacterTokenizer
from keras_attention import Ensemble
from keras_attention import GreedySearch
from keras_attention import Translator

DIGITS = CharacterTokenizer("01234")
SEARCH = GreedySearch(max_length=6, forbidden_ids=[0, 1, 2])


@pytest.fixture
def save(tmp_path):
    """Saves a translator of random weights, and returns its folder."""

    def save(name, source=DIGITS, target=DIGITS, **options):
        model = small_model(**options)
        Translator(model, source, target, SEARCH).save(tmp_path / name)
        return tmp_path / name

    return save


@pytest.mark.slow
@pytest.mark.usefixtures("without_graphs")
def test_members_are_averaged(save, tmp_path):
    """In probabilities, also of other sources; or in their weights."""
    one, two = save("one", seed=3), save("two", seed=4)
    other = save("other", CharacterTokenizer("43210"), seed=4)
    models = [Translator.load(x).model for x in (one, two)]
    whole = Translator(Ensemble(models), DIGITS, DIGITS, SEARCH)
    wanted = whole(["012", "43"], return_scores=True)
    for number, folder in enumerate((two, other)):
        out = tmp_path / f"out{number}"
        code, said, err = shell("ensemble", one, folder, "-o", out)
        assert (code, err) == (0, "")
        assert f"Next: keras-attention translate {out} FILE" in said
        found = Translator.load(out)
        assert found.search.get_config() == SEARCH.get_config()
        if folder == two:
            scored = found(["012", "43"], return_scores=True)
            assert scored.texts == wanted.texts
            np.testing.assert_allclose(scored.scores, wanted.scores, rtol=1e-5)
        else:  # each member reads the source in its own ids
            assert found.source_tokenizer.parts[1].vocabulary == [*"43210"]
            assert len(found(["012"])) == 1
    code, _, err = shell("average", one, two, "--output", tmp_path / "mean")
    assert (code, err) == (0, "")
    found = Translator.load(tmp_path / "mean").model.weights
    for mean, *pair in zip(found, *(x.weights for x in models), strict=True):
        values = [to_numpy(x) for x in pair]
        np.testing.assert_allclose(to_numpy(mean), sum(values) / 2, atol=1e-6)


@pytest.mark.parametrize(
    ("command", "other", "message"),
    [
        ("ensemble", {"target": CharacterTokenizer("43210")}, "vocabulary"),
        ("average", {"source": CharacterTokenizer("43210")}, "source token"),
        ("average", {"dropout": 0.1}, "same options"),
    ],
)
def test_errors_name_the_folder(save, tmp_path, command, other, message):
    folders = save("a", seed=3), save("b", seed=4), save("c", **other)
    code, out, err = shell(command, *folders, "-o", tmp_path / "out")
    assert (code, out) == (1, "")
    assert err.startswith(f"keras-attention {command}: error: ")
    assert message in err
    assert f"Received: {folders[2]}, " in err
    assert str(folders[0]) in err
    assert str(folders[1]) not in err
    assert not (tmp_path / "out").exists()


def test_one_is_not_several(save, tmp_path):
    one = save("one")
    code, _, err = shell("ensemble", one, "-o", tmp_path / "out")
    assert code == 1
    assert "two or more folders. Received: 1" in err
    code, _, err = shell("ensemble", one, tmp_path / "no", "-o", one)
    assert (code, "no: No such file" in err) == (1, True)


def test_members_of_members_are_named_in_their_place(save, tmp_path):
    one, other = save("one"), save("other", CharacterTokenizer("43210"))
    both = tmp_path / "both"
    assert shell("ensemble", one, other, "-o", both)[0] == 0
    code, _, err = shell("ensemble", one, both, "-o", tmp_path / "out")
    assert code == 1
    assert f"Received: {both}, which has several" in err
    assert WORDS == Translator.load(both).model.target_vocabulary_size
