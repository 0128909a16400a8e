"""Figures: a grid in which everything can be seen, at one size."""

import itertools
import types
import warnings

import matplotlib
import numpy as np
import pytest
from drawn import SOURCE
from drawn import TARGET
from drawn import inches
from drawn import labels
from drawn import matrix
from drawn import outside
from drawn import weights
from matplotlib import font_manager
from tiers import some

from keras_attention import plot_attention
from keras_attention import plot_attention_batch
from keras_attention import plot_attention_heads
from keras_attention import plot_attention_over_image
from keras_attention.plots import figures
from keras_attention.plots.attention import CELL
from keras_attention.plots.figures import fit
from keras_attention.plots.figures import make_axes
from keras_attention.plots.figures import text_style

SIZES = np.array([[3, 1], [1, 2], [1, 1], [2, 1], [0.5, 0.5]])
LENGTHS = [(3, 4), (1, 2), (6, 5), (2, 9), (4, 4), (5, 1), (3, 3)]


def make(rooms, columns=None):
    return make_axes("plot_attention", np.array(rooms), columns)


def drawn(sizes, columns=None, title="picture"):
    sizes = np.array(sizes)
    axes = make(sizes + 0.5, columns)
    for ax, (width, height) in zip(axes, sizes, strict=True):
        ax.imshow(np.zeros((round(20 * height), round(20 * width))))
        ax.set_title(title)
    fit(axes, sizes)
    return axes


def batch(**kwargs):
    """Sentences of many lengths."""
    tokens = [
        [[f"{word}{n}" for n in range(shape[axis])] for shape in LENGTHS]
        for axis, word in ((1, "Wort"), (0, "word"))
    ]
    listed = [weights(*shape) for shape in LENGTHS]
    return plot_attention_batch(listed, *tokens, **kwargs)


SCENES = {  # the first five are the hardest
    "color bar": lambda: plot_attention(
        weights(), SOURCE, TARGET, titles="a title", colorbar=True
    ),
    "heads": lambda: plot_attention_heads(
        weights(4, 3, 4), SOURCE, TARGET, mean=True, colorbar=True
    ),
    "long labels": lambda: plot_attention(
        weights(),
        ["Donaudampfschifffahrtsgesellschaft"] * 4,
        [*TARGET[1:], "a label of sixty letters".ljust(60, "m")],
    ),
    "long titles": lambda: batch(titles="a title far wider than a picture"),
    "one by one": lambda: plot_attention(weights(1, 1), ["ja"], ["yes"]),
    "three columns": lambda: batch(columns=3, colorbar=True),
    "60 x 60": lambda: plot_attention(
        weights(60, 60), ["Wort"] * 60, ["word"] * 60
    ),
}


def boxes(axes):
    """The place of each picture, label and title, in dots."""
    found = [ax.images[0] for ax in axes]
    for ax in axes:
        labels = [*ax.get_xticklabels(), *ax.get_yticklabels()] * ax.axison
        found += [x for x in labels if x.get_visible()] + [ax.title]
    found = [x.get_window_extent().padded(-1) for x in found]
    return [box for box in found if box.width > 0]  # of no text: negative


def overlap(one, other):
    across = min(one.x1, other.x1) > max(one.x0, other.x0)
    return across and min(one.y1, other.y1) > max(one.y0, other.y0)


@pytest.mark.slow
@pytest.mark.parametrize("scene", some(SCENES, 5))
def test_a_reader_sees_everything_at_one_size(scene):
    axes = np.atleast_1d(SCENES[scene]())
    for ax in axes:
        cells = inches(ax) / matrix(ax).shape[::-1]
        np.testing.assert_allclose(cells, CELL, rtol=0.02)
    figure = axes[0].figure
    assert -0.3 < outside(figure) <= 0, "cut off, or much empty space"
    found = boxes(axes)
    assert not any(overlap(*pair) for pair in itertools.combinations(found, 2))


def test_captions_of_any_length_fit():
    words = ["a word that is much too long for its picture", "b", "c"]
    axes = plot_attention_over_image(
        np.zeros((12, 16)), weights(3, 16), words, show_image=False
    )
    for ax in axes:
        np.testing.assert_allclose(inches(ax), [1.6, 1.2], rtol=0.02)
    assert outside(axes[0].figure) <= 0
    found = boxes(axes)
    assert not any(overlap(*pair) for pair in itertools.combinations(found, 2))


class TestFit:
    @pytest.mark.slow
    def test_pictures_of_a_row_begin_at_one_height(self):
        axes = drawn(SIZES, 2)
        inches(axes[0])
        tops = [ax.get_window_extent().y1 for ax in axes]
        lefts = [ax.get_window_extent().x0 for ax in axes]
        np.testing.assert_allclose(tops[:4:2], tops[1:4:2])
        np.testing.assert_allclose(lefts[0], lefts[2:5:2])

    def test_a_large_figure_gets_fewer_dots(self):
        (ax,) = drawn([[60, 5]])
        dots = ax.figure.get_size_inches() * ax.figure.dpi
        assert dots.max() == pytest.approx(100 * figures.LONGEST_SIDE)


# Fonts: one that has each character, or a warning that helps.


UNKNOWN = ["년", "月", "ب", "1"]
PLOTS = {
    "plot_attention": lambda: plot_attention(weights(), UNKNOWN, TARGET),
    "plot_attention_batch": lambda: plot_attention_batch(
        weights(2, 3, 4), UNKNOWN, TARGET
    ),
    "plot_attention_heads": lambda: plot_attention_heads(
        weights(2, 3, 4), UNKNOWN, TARGET
    ),
    "plot_attention_over_image": lambda: plot_attention_over_image(
        np.zeros((8, 8)), weights(4, 4), UNKNOWN
    ),
}


def own():
    return list(matplotlib.rcParams["font.family"])


class TestFonts:
    def test_the_users_fonts_come_first(self):
        before = own()
        families = text_style("plot_attention", ["2021年"])["family"]
        assert families[: len(own())] == own() == before
        assert text_style("plot_attention", ["2021 \x01"])["family"] == own()
        assert not any("Last Resort" in family for family in families)

    def test_fonts_are_added_until_nothing_is_missing(self, monkeypatch):
        has = {"A Sans": "ab", "B Sans": "bcd", "C Serif": "bcdx", "D": ""}
        installed = [types.SimpleNamespace(name=x, fname=x) for x in has]
        manager = font_manager.fontManager
        monkeypatch.setattr(manager, "ttflist", installed)
        monkeypatch.setattr(
            figures,
            "_characters",
            lambda _, path: {*map(ord, has.get(path, ""))},
        )
        for texts, added in {
            ("cd",): ["B Sans"],
            ("a", "bcd"): ["A Sans", "B Sans"],
            ("xa",): ["A Sans", "C Serif"],
        }.items():
            found = text_style("plot_attention", texts)["family"]
            assert found == [*own(), *added]

    @pytest.mark.parametrize("token", ["$x_$", "a$b$", "\\frac", "_", "%", " "])
    def test_no_token_is_a_formula(self, token):
        ax = plot_attention(weights(), [token] * 4, TARGET, titles=token)
        ax.figure.canvas.draw()
        assert labels(ax)[0] == [token] * 4

    @pytest.mark.parametrize("plot", PLOTS)
    def test_what_no_font_has_is_drawn_with_a_warning(self, plot, monkeypatch):
        monkeypatch.setattr(font_manager.fontManager, "ttflist", [])
        with pytest.warns(
            UserWarning, match="Glyph 45380 .* missing from font"
        ):
            PLOTS[plot]()

    def test_nothing_is_said_where_nothing_is_missing(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plot_attention(weights(), ["é", "ß", " ", "▁zwei"], TARGET)
