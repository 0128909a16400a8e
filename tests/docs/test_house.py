"""The picture of the house: floors from imports."""

import house
import pytest
import source


def test_a_part_stands_above_all_that_it_imports():
    parts = {"a": {"b", "c"}, "b": {"c"}, "c": set(), "d": set()}
    assert house.floors(parts) == [["c", "d"], ["b"], ["a"]]


@pytest.mark.slow
def test_every_part_of_the_package_is_drawn():
    parts = house.read_parts()
    assert set(parts) == {source.part(path) for path in source.FILES}
    assert "ops" in parts["decoder"]
    picture = house.draw(parts)
    assert picture.count('class="room"') == len(parts)
    assert picture.index(">translator.py<") < picture.index(">ops/<")
    page = house.on_page_markdown("a\n{{ house }}\nb")
    assert page == f"a\n{picture}\nb"
