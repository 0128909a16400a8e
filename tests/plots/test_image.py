"""plot_attention_over_image: the right place of the image, word by word."""

import math

import numpy as np
import pytest
from drawn import grid
from drawn import matrix
from drawn import titles
from drawn import weights

from keras_attention import plot_attention_over_image

WORDS = ["a", "red", "circle"]
IMAGE = np.random.default_rng(1).uniform(size=(12, 16, 3))


def looked(*shape):
    """Weights `(3, ...)` that add up to one for each word."""
    return weights(3, int(np.prod(shape))).reshape(3, *shape)


def pixel(weight, row, column, shape):
    """One pixel of the enlarged weight: the mean of cells, by distance."""
    rows, columns = weight.shape
    y, x = (row + 0.5) * rows / shape[0], (column + 0.5) * columns / shape[1]
    total = share = 0
    for r in range(rows):
        for c in range(columns):
            squared = (r + 0.5 - y) ** 2 + (c + 0.5 - x) ** 2
            near = math.exp(-squared / (2 * 0.6**2))
            total, share = total + near * weight[r, c], share + near
    return total / share


def assert_enlarged(ax, weight):
    found = matrix(ax)
    for row, column in [(0, 0), (7, 50), (60, 100), (63, 255), (20, 201)]:
        wanted = pixel(weight, row, column, found.shape)
        assert found[row, column] == pytest.approx(wanted, rel=1e-6)


class TestPictures:
    def test_the_image_comes_first_then_one_picture_a_word(self):
        axes = plot_attention_over_image(IMAGE, looked(16), WORDS)
        assert titles(axes) == ["", *WORDS]
        assert [len(ax.images) for ax in axes] == [1, 2, 2, 2]
        for ax in axes:
            np.testing.assert_array_equal(ax.images[0].get_array(), IMAGE)
        for ax, wanted in zip(axes[1:], looked(4, 4), strict=True):
            assert_enlarged(ax, wanted)

    def test_columns_as_asked_with_and_without_the_image(self):
        axes = plot_attention_over_image(IMAGE, looked(16), WORDS, columns=3)
        assert grid(axes) == (2, 3)
        assert len(axes[0].figure.axes) == 4
        axes = plot_attention_over_image(
            IMAGE, looked(16), WORDS, show_image=False
        )
        assert titles(axes) == WORDS

    def test_words_share_one_scale(self):
        axes = plot_attention_over_image(IMAGE, looked(16), WORDS)
        brightest = max(matrix(ax).max() for ax in axes[1:])
        limits = {ax.images[1].get_clim() for ax in axes[1:]}
        assert limits == {(0, brightest)}
        axes = plot_attention_over_image(
            IMAGE, looked(16), WORDS, vmin=None, vmax=0.5, cmap="hot", alpha=0.3
        )
        darkest = min(matrix(ax).min() for ax in axes[1:])
        assert axes[1].images[1].get_clim() == (darkest, 0.5)
        assert axes[1].images[1].get_cmap().name == "hot"
        assert axes[1].images[1].get_alpha() == 0.3

    def test_padding_is_left_out_and_does_not_scale(self):
        looks = looked(16)
        looks[2] = 9
        axes = plot_attention_over_image(IMAGE, looks, [b"a", "red", ""])
        assert titles(axes) == ["", "a", "red"]
        assert axes[1].images[1].get_clim()[1] < looks[:2].max()


class TestGrid:
    @pytest.mark.parametrize("shape", [(16,), (4, 4), (2, 8), (3, 5)])
    def test_a_grid_of_their_own_or_a_square(self, shape):
        axes = plot_attention_over_image(IMAGE, looked(*shape), WORDS)
        wanted = (4, 4) if shape == (16,) else shape
        for ax, weight in zip(axes[1:], looked(*wanted), strict=True):
            assert_enlarged(ax, weight)

    @pytest.mark.parametrize(
        ("shape", "wrong"),
        [((15,), None), ((16,), (3, 5)), ((3, 5), (5, 3)), ((4,), (-2, -2))],
    )
    def test_other_grids_are_errors(self, shape, wrong):
        with pytest.raises(ValueError, match="grid=\\(rows, columns\\)"):
            plot_attention_over_image(IMAGE, looked(*shape), WORDS, wrong)


class TestImage:
    @pytest.mark.parametrize(
        "image",
        [
            np.uint8(255 * IMAGE),
            IMAGE[..., :1],
            IMAGE[..., 0],
            np.concatenate([IMAGE, IMAGE[..., :1]], -1),
        ],
        ids=lambda image: f"{image.dtype}{image.shape}",
    )
    def test_what_an_image_may_be(self, image):
        axes = plot_attention_over_image(image, looked(16), WORDS)
        drawn = np.asarray(axes[0].images[0].get_array(), float)
        scale = 255 if image.dtype == np.uint8 else 1
        wanted = image.reshape(drawn.shape) / scale
        np.testing.assert_allclose(drawn, wanted)
        assert axes[0].images[0].get_clim() == (0, 1)

    @pytest.mark.parametrize(
        "shape", [(3,), (4, 4, 2), (1, 4, 4, 3), (0, 4), (4, 4, 0)]
    )
    def test_other_shapes_are_errors(self, shape):
        with pytest.raises(ValueError, match="`image` must be one image"):
            plot_attention_over_image(np.zeros(shape), looked(16), WORDS)

    @pytest.mark.parametrize(
        "image", [255 * IMAGE, IMAGE - 0.5, np.nan * IMAGE, np.int64(IMAGE) - 1]
    )
    def test_other_values_are_errors(self, image):
        with pytest.raises(ValueError, match=r"between 0 and 1.*image / 255"):
            plot_attention_over_image(image, looked(16), WORDS)


class TestErrors:
    @pytest.mark.parametrize(
        "wrong", [[], np.ones(4), np.ones((3, 2, 2, 2)), np.ones((3, 0))]
    )
    def test_weights_must_be_of_words(self, wrong):
        with pytest.raises(
            ValueError, match="`weights` must have the shape \\(T, rows"
        ):
            plot_attention_over_image(IMAGE, wrong, WORDS)

    def test_the_order_of_another_plot_is_named(self):
        maps = looked(16)
        message = r"in this order.*\(3, 16\).*plot_attention_over_image\(image"
        with pytest.raises(ValueError, match=message):
            plot_attention_over_image(maps, WORDS, IMAGE)
        with pytest.raises(ValueError, match=message):
            plot_attention_over_image(maps, IMAGE, WORDS)
