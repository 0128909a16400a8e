"""Names of the package on the pages of the reference."""

import names


def test_a_table_has_scores_and_papers():
    rows = names.on_page_markdown("{{ table attention }}").splitlines()
    row = next(x for x in rows if "CosineAttention" in x)
    assert "(<i>q</i> · <i>k</i>)" in row
    assert row.endswith(
        "| [Graves et al., 2014](https://arxiv.org/abs/1410.5401) |"
    )
    assert {x.count("|") for x in rows} == {4}
    assert any("mixture of Gaussians" in x for x in rows)
