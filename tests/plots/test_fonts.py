"""Fonts: one that has each character, or a warning that helps."""

import types
import warnings

import matplotlib
import numpy as np
import pytest
from drawn import TARGET
from drawn import labels
from drawn import weights
from matplotlib import font_manager

from keras_attention import plot_attention
from keras_attention import plot_attention_batch
from keras_attention import plot_attention_heads
from keras_attention import plot_attention_over_image
from keras_attention.plots import fonts
from keras_attention.plots.fonts import text_style

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
            fonts, "_characters", lambda _, path: {*map(ord, has.get(path, ""))}
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
