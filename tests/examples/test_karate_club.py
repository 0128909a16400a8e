import karate_club as example
import numpy as np
import pytest
from helpers import club

CLUB, SIDES = club.friendships(), club.sides()
FRIENDS = CLUB.sum(axis=1)


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    readings = example.main(quick=True, output=folder)
    picture = folder / "karate_club.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    return readings


def test_the_club_is_that_of_zachary():
    assert CLUB.sum() == 2 * 78
    assert (CLUB == CLUB.T).all()
    assert np.trace(np.linalg.matrix_power(CLUB.astype(int), 3)) == 6 * 45
    assert FRIENDS[example.INSTRUCTOR] == 16
    assert FRIENDS[example.ADMINISTRATOR] == 17
    assert SIDES.sum() == 17
    assert SIDES[example.INSTRUCTOR] == 0
    assert SIDES[example.ADMINISTRATOR] == 1


def test_the_mean_of_friends_fails_at_the_member_zachary_explains():
    """Number 9 of his table, who stayed for his black belt."""
    assert example.wrong(example.spread()) == [8]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["GAT", "GATv2"])
def test_it_tells_the_sides_and_listens_to_friends_alone(readings, name):
    strangers = ~(CLUB | np.eye(len(CLUB), dtype=bool))
    for reading in readings[name]:
        assert len(example.wrong(reading.probability)) <= 5
        assert reading.probability[example.INSTRUCTOR] < 0.1
        assert reading.probability[example.ADMINISTRATOR] > 0.9
        np.testing.assert_allclose(reading.weights.sum(axis=1), 1, rtol=1e-5)
        assert not reading.weights[strangers].any()


@pytest.mark.thorough
def test_only_the_second_version_ranks_friends_for_each_member(readings):
    first, second = (
        [example.ranked_alike(reading.weights) for reading in readings[name]]
        for name in ("GAT", "GATv2")
    )
    assert min(first) == 1.0
    assert min(second) < 0.9
