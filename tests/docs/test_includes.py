"""What pages include from elsewhere, and where links lead."""

import includes
import pytest
from includes import section


def relinked(text, path, uri, repository=None):
    return includes._relink(text, path, uri, repository)


def test_a_section_is_what_stands_below_its_heading():
    text = section("README.md", "In 20 lines")
    assert text.startswith("```python")
    assert "## From text" not in text
    assert "### Rare words" in section("docs/quality.md", "What was tried")
    assert not section("CHANGELOG.md", None).startswith("#")
    with pytest.raises(ValueError, match="has no heading 'Nothing'"):
        section("README.md", "Nothing")


def test_links_lead_to_the_repository_if_it_is_known():
    found = relinked("[a](setup.cfg)", "README.md", "x.md", "https://e.org/r/")
    assert found == "[a](https://e.org/r/blob/main/setup.cfg)"
    found = relinked("[a](SECURITY.md)", "README.md", "guides/x.md")
    assert found == "[a](../project/security.md)"
