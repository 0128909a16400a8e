"""The picture of the house: floors from imports."""

import pytest
import ways


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_ways_are_those_of_a_run():
    """Each as a list of files, with what the first line of each says."""
    found = ways.ways()
    assert "data/dataset.py" in found["data"][:1]
    for name, first in (
        ("fit", "models/base.py"),
        ("translate", "translator.py"),
    ):
        assert found[name][0] == first
        assert found[name][-2:] == ["attention/bahdanau.py", "ops/additive.py"]
    page = ways.on_page_markdown("a\n{{ way fit }}\nb").splitlines()
    assert page[1].startswith("1. `models/base.py`: What a model is")
    assert len(page) == 2 + len(found["fit"])
