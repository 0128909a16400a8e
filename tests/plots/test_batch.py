"""plot_attention_batch: several sentences in a grid, each without padding."""

import numpy as np
import pytest
from drawn import SOURCE
from drawn import TARGET
from drawn import grid
from drawn import labels
from drawn import matrix
from drawn import titles
from drawn import weights

from keras_attention import plot_attention_batch

LENGTHS = [(3, 4), (1, 2), (6, 5), (2, 9), (4, 4), (5, 1), (3, 3)]


def batch():
    """Padded weights of seven sentences, and their own tokens."""
    padded = np.zeros((7, 6, 9))
    for matrix_, (rows, columns) in zip(padded, LENGTHS, strict=True):
        matrix_[:rows, :columns] = weights(rows, columns)
    sources = [[f"s{n}" for n in range(columns)] for _, columns in LENGTHS]
    targets = [[f"t{n}" for n in range(rows)] for rows, _ in LENGTHS]
    return padded, sources, targets


def filled(sentences, size):
    return [[*x, *[b""] * (size - len(x))] for x in sentences]


@pytest.mark.parametrize("padded_tokens", [False, True])
def test_every_sentence_has_its_own_size(padded_tokens):
    padded, sources, targets = batch()
    given = sources, targets
    if padded_tokens:
        given = filled(sources, 9), filled(targets, 6)
    axes = plot_attention_batch(padded, *given)
    assert axes.shape == (7,)
    for n, (ax, shape) in enumerate(zip(axes, LENGTHS, strict=True)):
        np.testing.assert_array_equal(matrix(ax), weights(*shape))
        assert labels(ax) == (sources[n], targets[n])


def test_a_list_of_matrices_is_a_batch():
    _, sources, targets = batch()
    listed = [weights(*shape) for shape in LENGTHS]
    axes = plot_attention_batch(listed, sources, targets)
    assert [matrix(ax).shape for ax in axes] == LENGTHS


def test_columns_as_asked_and_no_empty_axes():
    axes = plot_attention_batch(*batch(), 3)
    assert grid(axes) == (3, 3)
    assert len(axes[0].figure.axes) == 7


@pytest.mark.slow
def test_titles_colors_and_their_scale():
    names = [f"sentence {n}" for n in range(7)]
    axes = plot_attention_batch(
        *batch(), titles=names, cmap="viridis", vmax=None, colorbar=True
    )
    assert titles(axes) == names
    assert {ax.images[0].get_cmap().name for ax in axes} == {"viridis"}
    assert {ax.images[0].get_clim() for ax in axes} == {(0, 1)}
    assert len(axes[0].figure.axes) == 8


def test_one_matrix_gives_one_picture():
    ax = plot_attention_batch(weights(), SOURCE, TARGET)
    np.testing.assert_array_equal(matrix(ax), weights())
    assert len(ax.figure.axes) == 1


def test_errors_name_the_argument():
    padded, sources, targets = batch()
    with pytest.raises(ValueError, match="`titles` needs one entry"):
        plot_attention_batch(padded, sources, targets, titles=["one"])
    with pytest.raises(ValueError, match="`source_tokens` needs one entry"):
        plot_attention_batch(padded, sources[1:], targets)
    with pytest.raises(ValueError, match="`columns` must be a positive"):
        plot_attention_batch(padded, sources, targets, columns=-1)
    sources[0] = sources[0][:-1]
    with pytest.raises(ValueError, match="`source_tokens` needs a token for"):
        plot_attention_batch(padded, sources, targets)
