"""score_texts: errors by hand, by the textbook's table, and sacreBLEU's."""

import numpy as np
import pytest

from keras_attention.training import MODES
from keras_attention.training import score_texts

RIGHT = ["two dogs play", "ʃ tʰ ˧˧", "a"]
FOUND = ["two cats play now", "ʃ ˧˧", "a"]
SEVERAL = [RIGHT, ["two cats play", "", "b b b b"]]


def value(name, *arguments, **options):
    return score_texts(name, *arguments, **options).value


def distance(a, b):
    """The textbook's table: delete, insert, substitute."""
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = range(len(a) + 1), range(len(b) + 1)
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            table[i, j] = min(
                table[i - 1, j] + 1,
                table[i, j - 1] + 1,
                table[i - 1, j - 1] + (x != y),
            )
    return table[-1, -1]


@pytest.mark.parametrize("name", ["wer", "cer"])
def test_error_rates_are_those_of_the_table(name):
    draw = np.random.default_rng(0)
    texts, right = (
        [" ".join(draw.choice([*"abc", "de"], n)) for n in lengths]
        for lengths in draw.integers(1, 9, (2, 50))
    )
    split = str.split if name == "wer" else list
    pairs = [(split(a), split(b)) for a, b in zip(texts, right, strict=True)]
    errors = sum(distance(*pair) for pair in pairs)
    wanted = 100 * errors / sum(len(b) for _, b in pairs)
    assert value(name, texts, [right]) == pytest.approx(wanted)


def test_spaces_around_texts_do_not_count():
    for name in ("wer", "cer", "accuracy"):
        wanted = 100 if name == "accuracy" else 0
        assert value(name, [" a b\t"], [["a b  "]]) == wanted


def test_other_names_of_the_same_numbers():
    given = ["a b", "c", "d"], [["a x", "c", "d e"]]
    assert value("per", *given) == value("wer", *given) == 40
    assert value("ser", *given) == 100 - value("accuracy", *given)
    assert value("accuracy", *given) == pytest.approx(100 / 3)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("name", MODES)
def test_case_counts_unless_told(name, lowercase):
    texts = ["A B C D E"], [["a b c d e"]]
    perfect = {"max": 100, "min": 0}[MODES[name]]
    found = value(name, *texts, lowercase=lowercase)
    assert (found == pytest.approx(perfect)) is (lowercase or name == "ter")


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_the_others_are_those_of_sacrebleu(name):
    import sacrebleu

    metric = getattr(sacrebleu, f"corpus_{name}")
    for references in ([RIGHT], SEVERAL):
        found = score_texts(name, FOUND, references)
        wanted = metric(FOUND, references).score
        assert found.value == pytest.approx(wanted, abs=1e-9)
        assert f"nrefs:{len(references)}|" in found.signature


@pytest.mark.parametrize("name", MODES)
def test_without_a_right_word_there_is_no_rate(name):
    with pytest.raises(ValueError, match=r"text that is not empty.*2 empty"):
        value(name, ["a", "b"], [["", " "]])
