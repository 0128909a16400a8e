"""Figures: places in a grid, and inches that hold whatever is written."""

import numpy as np
import pytest
from drawn import grid
from drawn import inches
from drawn import outside

from keras_attention.plots import figures
from keras_attention.plots.figures import add_colorbar
from keras_attention.plots.figures import color_limits
from keras_attention.plots.figures import fit
from keras_attention.plots.figures import make_axes

SIZES = np.array([[3, 1], [1, 2], [1, 1], [2, 1], [0.5, 0.5]])


def drawn(sizes, columns=None):
    axes = make_axes(sizes, np.full((len(sizes), 2), 0.5), columns)
    for ax, (width, height) in zip(axes, sizes, strict=True):
        ax.imshow(np.zeros((round(20 * height), round(20 * width))))
        ax.set_title("picture")
    fit(axes)
    return axes


class TestPlaces:
    @pytest.mark.parametrize(
        ("count", "rows", "columns"),
        [(1, 1, 1), (2, 1, 2), (4, 2, 2), (6, 2, 3), (7, 2, 4), (8, 2, 4)],
    )
    def test_squares_fill_a_page(self, count, rows, columns):
        axes = make_axes(np.ones((count, 2)), np.zeros((count, 2)))
        assert grid(axes) == (rows, columns)

    def test_wide_pictures_stand_below_each_other(self):
        assert grid(make_axes([[9, 1]] * 4, np.zeros((4, 2)))) == (4, 1)

    def test_few_places_stay_empty(self):
        sizes = [[7, 8], [6, 7], [14, 17], [4, 3]]
        assert grid(make_axes(sizes, np.zeros((4, 2)))) == (1, 4)

    @pytest.mark.parametrize(
        ("columns", "wanted"), [(1, (5, 1)), (3, (2, 3)), (9, (1, 5))]
    )
    def test_columns_as_asked(self, columns, wanted):
        axes = make_axes(SIZES, SIZES, columns)
        assert grid(axes) == wanted
        assert list(axes[0].figure.axes) == list(axes)

    def test_columns_must_be_positive(self):
        with pytest.raises(ValueError, match="`columns` must be a positive"):
            make_axes(SIZES, SIZES, 0)


class TestInches:
    @pytest.mark.parametrize("columns", [1, 2, 3, 5])
    def test_every_picture_has_its_size(self, columns):
        axes = drawn(SIZES, columns)
        for ax, size in zip(axes, SIZES, strict=True):
            np.testing.assert_allclose(inches(ax), size, atol=0.02)

    def test_pictures_of_a_row_begin_at_one_height(self):
        axes = drawn(SIZES, 2)
        inches(axes[0])
        tops = [ax.get_window_extent().y1 for ax in axes]
        lefts = [ax.get_window_extent().x0 for ax in axes]
        np.testing.assert_allclose(tops[:4:2], tops[1:4:2])
        np.testing.assert_allclose(lefts[0], lefts[2:5:2])

    def test_labels_of_any_length_fit(self):
        axes = make_axes([[1, 1]], [[9, 1]])
        axes[0].set_yticks([0.5], ["a label of sixty letters".ljust(60, "m")])
        fit(axes)
        np.testing.assert_allclose(inches(axes[0]), 1, atol=0.02)
        assert outside(axes[0].figure) <= 0
        assert axes[0].figure.get_size_inches()[1] < 1.6

    def test_titles_of_any_length_fit(self):
        axes = make_axes(np.ones((2, 2)), np.zeros((2, 2)))
        for ax in axes:
            ax.set_title("a title of forty letters".ljust(40, "m"))
        fit(axes)
        np.testing.assert_allclose(inches(axes[0]), 1, atol=0.02)
        assert outside(axes[0].figure) <= 0
        left, right = (ax.title.get_window_extent() for ax in axes)
        assert left.x1 < right.x0

    def test_short_titles_take_no_width(self):
        wide = []
        for title in ("", "short"):
            axes = make_axes(SIZES + 1, SIZES, 2)
            for ax in axes:
                ax.set_title(title)
            fit(axes)
            wide.append(axes[0].figure.get_size_inches()[0])
        assert wide[0] == pytest.approx(wide[1])

    def test_a_scale_of_colors_fits(self):
        axes = make_axes(SIZES, SIZES, 2)
        for ax, (width, height) in zip(axes, SIZES, strict=True):
            shape = round(20 * height), round(20 * width)
            image = ax.imshow(np.zeros(shape), vmin=0, vmax=1)
        add_colorbar(axes, image)
        fit(axes)
        np.testing.assert_allclose(inches(axes[0]), SIZES[0], atol=0.05)

    def test_a_large_figure_gets_fewer_dots(self):
        (ax,) = drawn([[60, 5]])
        dots = ax.figure.get_size_inches() * ax.figure.dpi
        assert dots.max() == pytest.approx(100 * figures.LONGEST_SIDE)


class TestColorLimits:
    def test_all_pictures_share_them(self):
        arrays = [np.array([[0.2, 0.5]]), np.array([[0.1], [0.3]])]
        for given, wanted in {
            (0.0, 1.0): (0.0, 1.0),
            (None, 1.0): (0.1, 1.0),
            (0.0, None): (0.0, 0.5),
        }.items():
            assert tuple(color_limits(arrays, *given).values()) == wanted
