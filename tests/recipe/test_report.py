"""The report beside a translator: errors by edits, and tables of them."""

import re
import sys

import pytest

from keras_attention.recipe import Recipe
from keras_attention.recipe.report import REPORT
from keras_attention.recipe.report import count_errors
from keras_attention.recipe.report import write_report
from keras_attention.recipe.texts import TrainingTexts

SOURCES = ["one", "two", "three", "four"]
RIGHT = ["a b c", "k a|b m", "x y", "d"]
FOUND = ["a c", "k e n", "x y", " d "]
PAIRS = [*zip(RIGHT, FOUND, strict=True)]
HISTORY = {
    name: [x + n for n in range(45)]
    for x, name in enumerate(("loss", "val_loss", "val_per", "seconds"))
}


class Echo:
    """Writes what it is given; has no attention to draw."""

    def __call__(self, sources, verbose, return_attention_scores=False):
        if return_attention_scores:
            raise ImportError("no attention")
        return [FOUND[SOURCES.index(x)] for x in sources]


def write(tmp_path, history=HISTORY):
    data = TrainingTexts(([], []), (SOURCES, RIGHT), RIGHT, (), "")
    recipe = Recipe(target_tokenizer="symbol", metric="per")
    with pytest.warns(UserWarning, match="No figures: "):
        write_report(tmp_path, Echo(), data, recipe, history, 6)
    return tmp_path / REPORT


def test_errors_are_aligned_by_edits():
    found, wrong = count_errors(SOURCES, RIGHT, FOUND, str.split)
    assert found == {("b", ""): 1, ("a|b", "e"): 1, ("m", "n"): 1}
    assert wrong == [(2, "two", *PAIRS[1]), (1, "one", *PAIRS[0])]
    found, wrong = count_errors(["ab"] * 2, ["abc", "b"], ["adc", "d"], list)
    assert found == {("b", "d"): 2}
    assert [row[0] for row in wrong] == [1, 1]


def test_a_report_has_rates_epochs_confusions_and_the_worst(tmp_path):
    text = write(tmp_path).read_text(encoding="utf-8")
    assert (
        "4 sources, translated with beam width 5. 2 of the hypotheses" in text
    )
    assert "| accuracy | 50 |" in text
    assert f"| per | {100 * 3 / 9:.4g} |" in text
    assert "| b | (nothing) | 1 |" in text
    assert r"| 2 | two | k a\|b m | k e n |" in text
    assert "Epoch 7 is the best epoch." in text
    assert "| 7 | 6 | 7 | 8 | 9 |" in text
    assert "## Epochs" not in write(tmp_path, None).read_text("utf-8")


@pytest.mark.parametrize(("count", "step"), [(20, 1), (21, 2), (45, 3)])
def test_at_most_20_epochs_and_the_best_are_listed(tmp_path, count, step):
    history = {name: values[:count] for name, values in HISTORY.items()}
    text = write(tmp_path, history).read_text(encoding="utf-8")
    text = text[text.index("## Epochs") : text.index("## Most")]
    listed = [int(x) for x in re.findall(r"^\| (\d+) \|", text, re.M)]
    assert listed == sorted({7, *range(count, 0, -step)})


def test_it_is_missed_aloud(tmp_path, monkeypatch):
    for name in ("rapidfuzz", "rapidfuzz.distance"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.warns(UserWarning, match=r"No report: .*\[evaluation\]"):
        assert not write(tmp_path).exists()
