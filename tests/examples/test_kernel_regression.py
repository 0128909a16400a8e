import kernel_regression as example
import numpy as np
import pytest

from keras_attention import KernelAttention

X, Y = example.measure(seed=0)
GRID = np.linspace(0, example.END, 101)


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    layers = example.main(output=folder)
    picture = folder / "kernel_regression.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    return layers


def left_out(bandwidth):
    """The error at every point told from the others, one at a time."""
    wrong = []
    for n in range(len(X)):
        near = np.exp(-((X - X[n]) ** 2) / (2 * bandwidth**2))
        near[n] = 0.0
        wrong.append(near @ Y / near.sum() - Y[n])
    return np.sqrt(np.mean(np.square(wrong)))


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 3.0])
def test_attention_is_the_regression_of_1964(bandwidth):
    layer = KernelAttention(bandwidth=bandwidth)
    answers, weights = example.regress(layer, GRID, X, Y)
    formula = example.nadaraya_watson(GRID, X, Y, bandwidth)
    np.testing.assert_allclose(answers, formula[0], atol=1e-5)
    np.testing.assert_allclose(weights, formula[1], atol=1e-5)


@pytest.mark.slow
def test_what_is_learned_is_the_best_bandwidth_of_a_search(layers):
    every = np.geomspace(0.1, 3.0, 300)
    best = every[np.argmin([left_out(h) for h in every])]
    learned = example.bandwidth_of(layers["learned"])
    assert learned == pytest.approx(best, rel=0.03)
