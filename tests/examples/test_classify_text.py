import classify_text as example
import keras
import pytest
from helpers import reviews

WRITTEN = reviews.make_reviews(500, held_out=False, seed=0)
HELD_OUT = reviews.make_reviews(500, held_out=True, seed=0)
LABELS = {
    adjective: label
    for label, adjectives in reviews.ADJECTIVES.items()
    for adjective in adjectives.split()
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    told = example.main(quick=True, output=folder)
    picture = folder / "classify_text.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    return told


def verdict(review):
    """The negator of a review, and its adjective."""
    clause = " ".join(review.words[n] for n in review.deciding)
    negators = [x for x in reviews.NEGATORS if f" {x} " in clause]
    (adjective,) = (word for word in clause.split() if word in LABELS)
    return "".join(negators), adjective


def test_no_verdict_is_both_learned_and_held_out():
    learned, tested = ({*map(verdict, x)} for x in (WRITTEN, HELD_OUT))
    assert learned
    assert tested
    assert not learned & tested
    known = [*reviews.pairs(held_out=False)]
    assert len([*known, *reviews.pairs(held_out=True)]) == 30 * 7
    assert {"", *reviews.NEGATORS, *LABELS} <= {x for y in known for x in y}


@pytest.mark.thorough
def test_it_classifies_by_the_clause_that_decides(told):
    assert told["accuracy"] > 0.9  # of pairs it never saw
    chance = told["its share of all words"]
    assert told["weight on the clause that decides"] > 2 * chance
    assert told["most weight on a word of it"] > 0.7


@pytest.mark.slow
def test_texts_of_your_own_are_read(tmp_path, capsys):
    file = tmp_path / "mails.tsv"
    lines = ["spam\tBuy now, it's cheap!", "mail\tSee you on Monday."] * 20
    file.write_text("\n".join(lines), encoding="utf-8")
    learned, held_out = example.read(file, seed=0)
    assert (len(learned), len(held_out)) == (36, 4)
    spam = next(x for x in learned if x.label == "spam")
    assert spam.words == ["buy", "now", ",", "it's", "cheap", "!"]
    told = example.main(quick=True, data=file, output=tmp_path)
    assert set(told) == {"accuracy"}
    printed = capsys.readouterr().out
    assert "Training texts: 36, held out: 4" in printed
    assert f"Picture: {tmp_path / 'classify_text.png'}\n" in printed
    if keras.backend.backend() == "tensorflow":
        assert f"File: {tmp_path / 'classify_text.tflite'}, " in printed
        assert "Same class as the model: 100% of the texts" in printed
