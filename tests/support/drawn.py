"""What tests of pictures draw, and how they read it off the axes again."""

import numpy as np

SOURCE, TARGET = ["zwei", "Hunde", "spielen", "."], ["two", "dogs", "."]


def weights(*shape):
    drawn = np.random.default_rng(0).uniform(size=shape or (3, 4))
    return drawn / drawn.sum(-1, keepdims=True)


def matrix(ax):
    return np.asarray(ax.images[-1].get_array())


def labels(ax):
    """The words at the columns and at the rows that can be seen."""
    source = [text for text in ax.get_xticklabels() if text.get_visible()]
    target = [text for text in ax.get_yticklabels() if text.get_visible()]
    return [x.get_text() for x in source], [x.get_text() for x in target]


def titles(axes):
    return [ax.get_title() for ax in axes]


def grid(axes):
    """Rows and columns of the figure that axes stand in."""
    return axes[0].get_gridspec().get_geometry()


def inches(ax):
    """Width and height of a picture in the figure as it is drawn."""
    ax.figure.draw_without_rendering()
    box = ax.get_window_extent()
    return np.array(box.size) / ax.figure.dpi


def outside(figure):
    """How many inches of what is drawn stand outside of the figure."""
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    return max(-drawn.x0, -drawn.y0, drawn.x1 - width, drawn.y1 - height)
