"""Tables of public names on the pages of the reference."""

import names
import pytest

import keras_attention as ka

PAGES = sorted(names.REFERENCE.glob("*.md"))
LISTED = [
    row[1]
    for page in PAGES
    for row in names.ROW.finditer(page.read_text(encoding="utf-8"))
]


def test_every_name_is_listed_once():
    missing = set(ka.__all__) - set(LISTED)
    assert not missing, f"name its folder in docs/reference: {missing}"
    assert len(LISTED) == len(set(LISTED))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_say_what_docstrings_say(page):
    text = page.read_text(encoding="utf-8")
    assert names.write_tables(text) == text, "run python docs/names.py"


def test_a_row_has_the_score_and_the_paper():
    row = next(
        x for x in names.table(["attention"]).splitlines() if "Cosine" in x
    )
    assert "`score(q, k) = beta * (q . k) / (\\|q\\| \\|k\\|)`" in row
    assert row.endswith(
        "| [Graves et al., 2014](https://arxiv.org/abs/1410.5401) |"
    )


def test_on_the_site_a_name_leads_to_its_entry():
    table = names.with_entries(names.table(["attention"]))
    assert "| [`CosineAttention`][keras_attention.CosineAttention] |" in table
    assert "\n::: keras_attention.CosineAttention\n" in table
    assert "(<i>q</i> · <i>k</i>)" in table
    assert "&#124;" in table


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="Nothing is not in keras_attention"):
        names.table(["attention.Nothing"])
