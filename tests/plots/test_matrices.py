"""Matrices: what stands where, and in which colors."""

import numpy as np
import pytest
from drawn import SOURCE
from drawn import TARGET
from drawn import labels
from drawn import weights

from keras_attention.plots.matrices import draw_matrices
from keras_attention.plots.pictures import read_pictures

LOOK = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0, "colorbar": False}


def draw(matrices, source=SOURCE, target=TARGET, titles=None, **options):
    pictures, _ = read_pictures(matrices, source, target)
    options = {**LOOK, **options}
    return draw_matrices("plot_attention", pictures, titles, **options)


@pytest.mark.parametrize(
    ("source", "degrees"), [(list("2021"), 0), (SOURCE, 90)]
)
def test_long_labels_are_turned(source, degrees):
    (ax,) = draw(weights(), source)
    assert {x.get_rotation() for x in ax.get_xticklabels()} == {degrees}
    assert {x.get_rotation() for x in ax.get_yticklabels()} == {0}


def test_a_title_for_each_or_for_all():
    axes = draw(weights(2, 3, 4), titles=["one", "two"])
    assert [ax.get_title() for ax in axes] == ["one", "two"]
    axes = draw(weights(2, 3, 4), titles="both")
    assert [ax.get_title() for ax in axes] == ["both"] * 2


def test_shared_labels_stand_at_the_edges():
    axes = draw(weights(3, 3, 4), columns=2, shared_labels=True)
    wanted = [(SOURCE, TARGET), (SOURCE, []), ([], TARGET)]
    assert [labels(ax) for ax in axes] == wanted


def test_pictures_share_their_scale():
    arrays = np.array([weights(), 0.5 * weights()])
    axes = draw(arrays, vmin=None, vmax=None)
    limits = {ax.images[0].get_clim() for ax in axes}
    assert limits == {(arrays.min(), arrays.max())}


def test_colorbar_on_request():
    assert len(draw(weights(2, 3, 4))[0].figure.axes) == 2
    axes = draw(weights(2, 3, 4), colorbar=True)
    assert len(axes[0].figure.axes) == 3


def test_axes_of_the_user_keep_their_figure():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 3))
    given = figure.subplots(2, 2)
    axes = draw(weights(4, 3, 4), ax=given, columns=4)
    assert list(axes) == list(given.reshape(-1))
    assert list(figure.get_size_inches()) == [3, 3]
    draw(weights(4, 3, 4), ax=given, colorbar=True)
    assert len(figure.axes) == 5
    with pytest.raises(ValueError, match="`ax` needs one entry"):
        draw(weights(2, 3, 4), ax=given[0, 0])
