"""What pages include from elsewhere, and where links lead."""

from types import SimpleNamespace

import includes
import pytest
from includes import section


def relinked(text, path, uri, repository=None):
    return includes._relink(text, path, uri, repository)


def test_a_section_is_what_stands_below_its_heading():
    text = section("README.md", "attention-in-20-lines")
    assert text.startswith("The decoder")
    assert "## From text" not in text
    assert "### Rare words" in section("docs/quality.md", "what-was-tried")
    assert not section("CHANGELOG.md", "").startswith("#")
    with pytest.raises(
        ValueError, match="no heading with the anchor 'nothing'"
    ):
        section("README.md", "nothing")


def test_a_link_with_a_comment_becomes_the_section():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="hood/x.md"))
    config = SimpleNamespace(repo_url=None)
    line = "[Code](../../README.md#attention-in-20-lines) <!-- include -->"
    text = f"[a](../index.md)\n\n{line}\n\nThe end."
    found = includes.on_page_markdown(text, page, config)
    assert found.startswith("[a](../index.md)\n\nThe decoder learns")
    assert found.endswith("`Seq2Seq`.\n\nThe end.")


def test_links_lead_to_the_repository_if_it_is_known():
    found = relinked("[a](setup.cfg)", "README.md", "x.md", "https://e.org/r/")
    assert found == "[a](https://e.org/r/blob/main/setup.cfg)"
    found = relinked("[a](SECURITY.md)", "README.md", "guides/x.md")
    assert found == "[a](../project/security.md)"
