"""plot_attention: what stands where, in any script, and nothing left behind."""

import sys
import warnings

import numpy as np
import pytest

from keras_attention import plots
from keras_attention.plots import plot_attention

matplotlib = pytest.importorskip("matplotlib")

SOURCE, TARGET = ["zwei", "Hunde", "spielen", "."], ["two", "dogs", "."]


def weights(*shape):
    drawn = np.random.default_rng(0).uniform(size=shape or (3, 4))
    return drawn / drawn.sum(-1, keepdims=True)


@pytest.fixture(autouse=True)
def _headless():
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    plots._warn_of.cache_clear()
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


def labels(ax):
    source = [text.get_text() for text in ax.get_xticklabels()]
    return source, [text.get_text() for text in ax.get_yticklabels()]


def matrix(ax):
    return np.asarray(ax.images[0].get_array())


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

    @pytest.mark.parametrize(
        ("source", "degrees"), [(list("2021"), 0), (SOURCE, 90)]
    )
    def test_long_labels_are_turned(self, source, degrees):
        ax = plot_attention(weights(), source, TARGET)
        assert {x.get_rotation() for x in ax.get_xticklabels()} == {degrees}
        assert {x.get_rotation() for x in ax.get_yticklabels()} == {0}

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
        assert pixels.max() <= plots.LONGEST_SIDE * 100 + 1


class TestTokens:
    def test_bytes_and_arrays(self):
        source = np.array(["é".encode(), b"b", b"c", b"\xff"])
        ax = plot_attention(weights(), source, tuple(TARGET))
        assert labels(ax)[0] == ["é", "b", "c", "\ufffd"]

    @pytest.mark.parametrize("token", ["$x_$", "a$b$", "\\frac", "_", "%", " "])
    def test_no_token_is_a_formula(self, token):
        ax = plot_attention(weights(), [token] * 4, TARGET, titles=token)
        ax.figure.canvas.draw()
        assert labels(ax)[0] == [token] * 4

    def test_every_character_gets_a_font_that_has_it(self):
        families = plots._families("2021년")
        assert families[: len(matplotlib.rcParams["font.family"])] == list(
            matplotlib.rcParams["font.family"]
        )
        assert not any("Last Resort" in family for family in families)

    def test_fonts_are_added_until_nothing_is_missing(self, monkeypatch):
        fonts = {"A Sans": "ab", "B Sans": "bcd", "C Serif": "bcdx", "D": ""}

        def missing(path, characters):
            path = str(path)
            return frozenset(characters) - set(fonts.get(path, ""))

        class Font:
            def __init__(self, name):
                self.name = self.fname = name

        manager = matplotlib.font_manager.fontManager
        monkeypatch.setattr(manager, "ttflist", [Font(name) for name in fonts])
        monkeypatch.setattr(plots, "_missing", missing)
        own = list(matplotlib.rcParams["font.family"])
        assert plots._families("bcd") == [*own, "B Sans"]
        assert plots._families("a bcd") == [*own, "B Sans", "A Sans"]
        assert plots._families("xa") == [*own, "A Sans", "C Serif"]

    def test_a_font_that_cannot_be_read_has_nothing(self, tmp_path):
        broken = tmp_path / "broken.ttf"
        broken.write_bytes(b"no font")
        assert plots._missing(str(broken), frozenset("a")) == {"a"}

    def test_nothing_is_said_where_nothing_is_missing(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plot_attention(weights(), ["é", "ß", " ", "▁zwei"], TARGET)

    def test_no_font_is_said_once_and_draws_all_the_same(self, monkeypatch):
        monkeypatch.setattr(plots, "_missing", lambda _, characters: characters)
        source = ["년", "月", "ب", "1"]
        with pytest.warns(
            UserWarning, match="HANGUL.*Noto Sans Arabic"
        ) as told:
            ax = plot_attention(weights(), source, TARGET)
        assert told[0].filename == __file__
        assert labels(ax)[0] == source
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plot_attention(weights(), source, TARGET)


class TestSeveralPictures:
    def test_heads_share_their_tokens(self):
        heads = weights(2, 3, 4)
        axes = plot_attention(heads, SOURCE, TARGET, titles=["one", "two"])
        assert isinstance(axes, np.ndarray)
        assert axes.shape == (2,)
        for ax, head, title in zip(axes, heads, ["one", "two"], strict=True):
            np.testing.assert_array_equal(matrix(ax), head)
            assert labels(ax) == (SOURCE, TARGET)
            assert ax.get_title() == title

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

    def test_draws_on_the_axes_given(self):
        from matplotlib.figure import Figure

        given = Figure().subplots(2, 2)
        axes = plot_attention(weights(4, 3, 4), SOURCE, TARGET, given)
        assert list(axes) == list(given.reshape(-1))


class TestErrors:
    @pytest.mark.parametrize(
        "wrong",
        [
            [],
            0.5,
            np.ones(4),
            np.ones((1, 1, 3, 4)),
            np.ones((0, 4)),
            [[1], [1, 2]],
        ],
    )
    def test_weights_must_be_matrices(self, wrong):
        with pytest.raises(ValueError, match="`weights` must be one matrix"):
            plot_attention(wrong, SOURCE, TARGET)

    def test_numbers_of_tokens_must_fit(self):
        with pytest.raises(ValueError, match="`source_tokens` needs one token"):
            plot_attention(weights(), SOURCE[1:], TARGET)
        with pytest.raises(ValueError, match="`target_tokens` needs one token"):
            plot_attention(weights(), SOURCE, SOURCE)
        with pytest.raises(ValueError, match="`source_tokens` needs one entry"):
            plot_attention(weights(2, 3, 4), [SOURCE], TARGET)

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
    def test_backend_and_settings_stay(self):
        before = matplotlib.get_backend(), dict(matplotlib.rcParams)
        plot_attention(weights(), ["년"] * 4, TARGET, colorbar=True)
        assert (matplotlib.get_backend(), dict(matplotlib.rcParams)) == before
