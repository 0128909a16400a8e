"""plot_attention_heads: one sentence, seen by each head, and their mean."""

import numpy as np
import pytest
from drawn import SOURCE
from drawn import TARGET
from drawn import grid
from drawn import labels
from drawn import matrix
from drawn import titles
from drawn import weights

from keras_attention import plot_attention_heads


def test_a_picture_a_head():
    heads = weights(8, 3, 4)
    axes = plot_attention_heads(heads, SOURCE, TARGET)
    assert titles(axes) == [f"head {n}" for n in range(1, 9)]
    for ax, head in zip(axes, heads, strict=True):
        np.testing.assert_array_equal(matrix(ax), head)


def test_words_stand_at_the_edges_alone():
    axes = plot_attention_heads(weights(4, 3, 4), SOURCE, TARGET, columns=2)
    assert grid(axes) == (2, 2)
    wanted = [(SOURCE, TARGET), (SOURCE, []), ([], TARGET), ([], [])]
    assert [labels(ax) for ax in axes] == wanted


def test_the_mean_comes_last():
    heads = weights(2, 3, 4)
    axes = plot_attention_heads(
        heads, SOURCE, TARGET, mean=True, titles=["words", "tags"]
    )
    assert titles(axes) == ["words", "tags", "mean"]
    np.testing.assert_allclose(matrix(axes[2]), (heads[0] + heads[1]) / 2)


def test_several_attentions_in_a_list_share_their_scale():
    listed = [weights(), 0.5 * weights()]
    axes = plot_attention_heads(
        listed, SOURCE, TARGET, vmax=None, cmap="magma", colorbar=True
    )
    limits = {ax.images[0].get_clim() for ax in axes}
    assert limits == {(0, weights().max())}
    assert {ax.images[0].get_cmap().name for ax in axes} == {"magma"}
    assert len(axes[0].figure.axes) == 3


def test_padding_is_left_out_of_every_head():
    axes = plot_attention_heads(
        weights(2, 3, 4), ["a", "b", "", ""], ["c", "", ""], mean=True
    )
    assert [matrix(ax).shape for ax in axes] == [(1, 2)] * 3


def test_one_head_is_a_grid_of_one():
    axes = plot_attention_heads(weights(1, 3, 4), SOURCE, TARGET)
    assert titles(axes) == ["head 1"]


def test_errors_name_the_way_out():
    heads = weights(2, 3, 4)
    with pytest.raises(ValueError, match="use plot_attention_batch"):
        plot_attention_heads(heads, [SOURCE, list("abcd")], TARGET)
    with pytest.raises(ValueError, match="`titles` needs one entry"):
        plot_attention_heads(heads, SOURCE, TARGET, titles=["a"], mean=True)
    with pytest.raises(ValueError, match="take one: `weights\\[0\\]`"):
        plot_attention_heads(heads[None], SOURCE, TARGET)
