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
    @pytest.mark.filterwarnings("ignore:plot_attention needs a font")
    def test_the_users_fonts_come_first(self):
        families = text_style("plot_attention", ["2021년"])["family"]
        assert families[: len(own())] == own()
        assert text_style("plot_attention", ["2021"])["family"] == own()
        assert not any("Last Resort" in family for family in families)

    def test_fonts_are_added_until_nothing_is_missing(self, monkeypatch):
        has = {"A Sans": "ab", "B Sans": "bcd", "C Serif": "bcdx", "D": ""}
        installed = [types.SimpleNamespace(name=x, fname=x) for x in has]
        manager = font_manager.fontManager
        monkeypatch.setattr(manager, "ttflist", installed)
        monkeypatch.setattr(
            fonts, "_missing", lambda _, path, text: text - {*has.get(path, "")}
        )
        for texts, added in {
            ("bcd",): ["B Sans"],
            ("a", "bcd"): ["B Sans", "A Sans"],
            ("xa",): ["A Sans", "C Serif"],
        }.items():
            found = text_style("plot_attention", texts)["family"]
            assert found == [*own(), *added]

    @pytest.mark.parametrize("token", ["$x_$", "a$b$", "\\frac", "_", "%", " "])
    def test_no_token_is_a_formula(self, token):
        ax = plot_attention(weights(), [token] * 4, TARGET, titles=token)
        ax.figure.canvas.draw()
        assert labels(ax)[0] == [token] * 4


class TestWarning:
    def test_nothing_is_said_where_nothing_is_missing(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plot_attention(weights(), ["é", "ß", " ", "▁zwei"], TARGET)
            text_style("plot_attention", ["\x01"])

    @pytest.mark.parametrize("plot", PLOTS)
    def test_no_font_is_said_once_and_draws_all_the_same(
        self, plot, monkeypatch
    ):
        monkeypatch.setattr(fonts, "_missing", lambda *args: args[-1])
        with pytest.warns(UserWarning, match="HANGUL.*Noto Sans Ar") as told:
            PLOTS[plot]()
        assert [warning.filename for warning in told] == [__file__]
        assert str(told[0].message).startswith(f"{plot} needs a font")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            PLOTS[plot]()
