"""plot_attention: what stands where, and nothing left behind."""

import sys

import matplotlib
import numpy as np
import pytest
from drawn import SOURCE
from drawn import TARGET
from drawn import grid
from drawn import labels
from drawn import matrix
from drawn import titles
from drawn import weights

from keras_attention import plot_attention
from keras_attention.plots import figures


class TestOnePicture:
    def test_a_row_a_target_word_and_source_on_top(self):
        ax = plot_attention(weights(), SOURCE, TARGET)
        np.testing.assert_array_equal(matrix(ax), weights())
        assert labels(ax) == (SOURCE, TARGET)
        assert ax.xaxis.get_ticks_position() == "top"
        left, right, bottom, top = ax.images[0].get_extent()
        assert (left, right, bottom, top) == (-0.5, 3.5, 2.5, -0.5)

    def test_black_is_none_and_white_is_all(self):
        ax = plot_attention(0.25 * np.eye(3, 4), SOURCE, TARGET)
        assert ax.images[0].get_clim() == (0, 1)
        assert ax.images[0].get_cmap().name == "gray"

    def test_range_of_the_weights_on_request(self):
        ax = plot_attention(weights(), SOURCE, TARGET, vmin=None, vmax=None)
        assert ax.images[0].get_clim() == (weights().min(), weights().max())

    def test_draws_on_the_axes_given(self):
        from matplotlib.figure import Figure

        ax = Figure().add_subplot()
        assert plot_attention(weights(), SOURCE, TARGET, ax) is ax
        assert len(ax.images) == 1

    def test_colorbar_on_request(self):
        assert len(plot_attention(weights(), SOURCE, TARGET).figure.axes) == 1
        ax = plot_attention(weights(), SOURCE, TARGET, colorbar=True)
        assert len(ax.figure.axes) == 2

    def test_padding_at_the_end_is_left_out(self):
        source, target = ["", "a", "", ""], ["b", b"", ""]
        ax = plot_attention(weights(), source, target)
        assert labels(ax) == (["", "a"], ["b"])
        np.testing.assert_array_equal(matrix(ax), weights()[:1, :2])

    def test_a_long_text_keeps_to_a_screen(self):
        ax = plot_attention(weights(90, 120), ["word"] * 120, ["w"] * 90)
        pixels = ax.figure.get_size_inches() * ax.figure.dpi
        assert pixels.max() <= figures.LONGEST_SIDE * 100 + 1


class TestSeveralPictures:
    def test_they_stand_side_by_side(self):
        several = weights(5, 3, 4)
        axes = plot_attention(several, SOURCE, TARGET, titles=list("abcde"))
        assert isinstance(axes, np.ndarray)
        assert axes.shape == (5,)
        assert grid(axes) == (1, 5)
        assert titles(axes) == list("abcde")
        for ax, one in zip(axes, several, strict=True):
            np.testing.assert_array_equal(matrix(ax), one)
            assert labels(ax) == (SOURCE, TARGET)

    def test_sentences_have_their_own(self):
        sources, targets = [SOURCE, ["ja"]], [TARGET, ["y", "es"]]
        axes = plot_attention([weights(), weights(2, 1)], sources, targets)
        assert labels(axes[0]) == (SOURCE, TARGET)
        assert labels(axes[1]) == (["ja"], ["y", "es"])

    def test_pictures_share_their_scale(self):
        axes = plot_attention(
            np.array([weights(), 0.5 * weights()]), SOURCE, TARGET, vmax=None
        )
        limits = {ax.images[0].get_clim() for ax in axes}
        assert limits == {(0, weights().max())}

    def test_one_matrix_in_a_list_gives_an_array(self):
        assert plot_attention([weights()], SOURCE, TARGET).shape == (1,)


class TestErrors:
    def test_numbers_of_tokens_must_fit(self):
        with pytest.raises(ValueError, match="`source_tokens` needs one token"):
            plot_attention(weights(), SOURCE[1:], TARGET)

    def test_numbers_of_axes_and_titles_must_fit(self):
        with pytest.raises(ValueError, match="`titles` needs one entry"):
            plot_attention(weights(2, 3, 4), SOURCE, TARGET, titles=["one"])
        ax = plot_attention(weights(), SOURCE, TARGET)
        with pytest.raises(ValueError, match="`ax` needs one entry"):
            plot_attention(weights(2, 3, 4), SOURCE, TARGET, ax)

    def test_without_matplotlib_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match=r"keras-attention\[plots\]"):
            plot_attention(weights(), SOURCE, TARGET)


class TestLeavesNoTrace:
    @pytest.mark.slow
    def test_backend_and_settings_stay(self):
        before = matplotlib.get_backend(), dict(matplotlib.rcParams)
        plot_attention(weights(), ["2"] * 4, TARGET, colorbar=True)
        assert (matplotlib.get_backend(), dict(matplotlib.rcParams)) == before
