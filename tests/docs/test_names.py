"""Names of the package on the pages of the reference."""

import names

import keras_attention as ka


def test_a_page_gets_the_names_of_a_room_that_no_page_has_by_itself():
    page = names.expand("a\n\n{{ names attention }}\n")
    listed = names.ENTRY.findall(page)
    rest = {x for x, room in ka.NAMES.items() if room == "attention"}
    assert set(listed) == rest - {  # those of composed.md
        *("AttentionPooling", "GraphAttention", "SelfAttention")
    }
    assert listed[-1] == "AbstractAttention"
    assert len(set(listed)) == len(listed)


def test_a_table_has_scores_and_papers():
    rows = names.on_page_markdown("{{ table attention }}").splitlines()
    row = next(x for x in rows if "CosineAttention" in x)
    assert "(<i>q</i> · <i>k</i>)" in row
    assert row.endswith(
        "| [Graves et al., 2014](https://arxiv.org/abs/1410.5401) |"
    )
    assert {x.count("|") for x in rows} == {4}
    assert any("mixture of Gaussians" in x for x in rows)
