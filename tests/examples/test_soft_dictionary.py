import numpy as np
import pytest
import soft_dictionary as example
from keras import ops

VALUES = np.array(list(example.COLOURS.values()), "float32")
KEYS = example.unit_vectors(len(VALUES), seed=0)
QUERIES, _ = example.noisy(KEYS, 2000, seed=1)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    dictionaries = example.main(output=folder)
    picture = folder / "soft_dictionary.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    return dictionaries


def look_up(sharpness, values=VALUES):
    return example.look_up(QUERIES, KEYS, values, sharpness)


def test_the_best_sharpness_gives_the_probability_of_each_key():
    _, weights = look_up(example.BEST)
    for query, row in zip(QUERIES[:50], weights, strict=False):
        apart = np.sum((query - KEYS) ** 2, axis=1)
        likely = np.exp(-apart / (2 * example.NOISE**2))
        np.testing.assert_allclose(row, likely / likely.sum(), atol=1e-5)


@pytest.mark.thorough
def test_it_finds_the_colours_the_sharpness_and_the_keys(learned):
    found = ops.convert_to_numpy(learned["values"].values)
    assert example.rms(found - VALUES) < 0.05
    assert learned["values"].sharpness() == pytest.approx(
        example.BEST, rel=0.15
    )
    np.testing.assert_array_equal(learned["values"].keys, KEYS)
    found = ops.convert_to_numpy(learned["keys"].keys)
    answers = example.look_up_hard(KEYS, found, VALUES)
    np.testing.assert_array_equal(answers, VALUES)
