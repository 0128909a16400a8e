import sys

import pytest

from keras_attention.plots import draw_curves


def test_each_group_has_a_plot_with_a_curve_for_each_name():
    history = {
        "loss": [3.0, 2.0],
        "val_loss": [4.0, 5.0],
        "val_wer": [9.0, 1.0],
    }
    figure = draw_curves(history, [["loss", "val_loss"], ["val_wer"]])
    found = [
        {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
        for ax in figure.axes
    ]
    assert found == [
        {"loss": [[1, 3], [2, 2]], "val_loss": [[1, 4], [2, 5]]},
        {"val_wer": [[1, 9], [2, 1]]},
    ]
    for ax in figure.axes:
        assert ax.get_xlabel() == "epoch"
        assert ax.get_legend() is not None


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"\[plots\]"):
        draw_curves({"loss": [1.0]}, [["loss"]])
