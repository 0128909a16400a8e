"""plot_attention, _batch and _heads: what stands where, in which colors."""

import sys

import keras
import numpy as np
import pytest
from drawn import SOURCE
from drawn import TARGET
from drawn import grid
from drawn import labels
from drawn import matrix
from drawn import titles
from drawn import weights
from matplotlib.figure import Figure

from keras_attention import plot_attention
from keras_attention import plot_attention_batch
from keras_attention import plot_attention_heads

SHAPES = [(3, 4), (1, 2), (6, 5), (2, 9), (4, 4), (5, 1), (3, 3)]


def limits(axes):
    return {ax.images[0].get_clim() for ax in axes}


class TestOnePicture:
    def test_a_row_a_target_word_and_source_on_top(self):
        ax = plot_attention(weights(), SOURCE, TARGET)
        np.testing.assert_array_equal(matrix(ax), weights())
        assert labels(ax) == (SOURCE, TARGET)
        assert ax.xaxis.get_ticks_position() == "top"
        left, right, bottom, top = ax.images[0].get_extent()
        assert (left, right, bottom, top) == (-0.5, 3.5, 2.5, -0.5)
        assert len(ax.figure.axes) == 1

    def test_black_is_none_and_white_is_all(self):
        ax = plot_attention(0.25 * np.eye(3, 4), SOURCE, TARGET)
        assert limits([ax]) == {(0, 1)}
        assert ax.images[0].get_cmap().name == "gray"

    @pytest.mark.parametrize(
        ("source", "degrees"), [(list("2021"), 0), (SOURCE, 90)]
    )
    def test_long_labels_are_turned(self, source, degrees):
        ax = plot_attention(weights(), source, TARGET)
        assert {x.get_rotation() for x in ax.get_xticklabels()} == {degrees}
        assert {x.get_rotation() for x in ax.get_yticklabels()} == {0}

    @pytest.mark.parametrize("marks", [("<s>", "</s>"), ("</s>", "<unk>")])
    def test_letters_stand_upright_beside_marks(self, marks):
        for words, turned in ((["a", "bcd"], False), (["a", "word"], True)):
            source = [marks[0], *words, marks[1]]
            ax = plot_attention(weights(), source, TARGET)
            for label in ax.get_xticklabels():
                text = label.get_text()
                lies = turned or (text in marks and text != "<s>")
                assert label.get_rotation() == (90 if lies else 0)

    def test_padding_at_the_end_is_left_out(self):
        source, target = ["", "a", "", ""], ["b", b"", ""]
        ax = plot_attention(weights(), source, target)
        assert labels(ax) == (["", "a"], ["b"])
        np.testing.assert_array_equal(matrix(ax), weights()[:1, :2])
        ax = plot_attention(weights(), [""] * 4, TARGET)
        assert labels(ax) == ([""], TARGET)

    def test_tensors_bytes_and_arrays(self):
        tensor = keras.ops.convert_to_tensor([[0.5, 0.25, 0.0]], "bfloat16")
        source = np.array(["é".encode(), b"b", b"\xff"])
        for given in (tensor, [tensor[0]], [[0.5, 0.25, 0.0]]):
            ax = plot_attention(given, source, ["x"])
            np.testing.assert_array_equal(matrix(ax), [[0.5, 0.25, 0.0]])
            assert labels(ax)[0] == ["é", "b", "\ufffd"]

    def test_without_matplotlib_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(
            ImportError, match=r"attention_heads needs.*\[plots"
        ):
            plot_attention_heads(weights(2, 3, 4), SOURCE, TARGET)


class TestSeveralPictures:
    def test_they_stand_side_by_side(self):
        several = weights(5, 3, 4)
        axes = plot_attention(several, SOURCE, TARGET, titles=list("abcde"))
        assert isinstance(axes, np.ndarray)
        assert grid(axes) == (1, 5)
        assert titles(axes) == list("abcde")
        for ax, one in zip(axes, several, strict=True):
            np.testing.assert_array_equal(matrix(ax), one)
            assert labels(ax) == (SOURCE, TARGET)
        assert plot_attention([weights()], SOURCE, TARGET).shape == (1,)

    def test_pictures_share_their_scale(self):
        arrays = np.array([weights(), 0.5 * weights()])
        axes = plot_attention(arrays, SOURCE, TARGET, vmax=None)
        assert limits(axes) == {(0, arrays.max())}
        axes = plot_attention(arrays, SOURCE, TARGET, vmin=None, vmax=None)
        assert limits(axes) == {(arrays.min(), arrays.max())}

    def test_axes_of_the_user_keep_their_figure(self):
        figure = Figure(figsize=(3, 3))
        given = figure.subplots(2, 2)
        axes = plot_attention(weights(4, 3, 4), SOURCE, TARGET, given)
        assert list(axes) == list(given.reshape(-1))
        assert list(figure.get_size_inches()) == [3, 3]
        four = weights(4, 3, 4)
        plot_attention(four, SOURCE, TARGET, given, colorbar=True)
        assert len(figure.axes) == 5
        assert plot_attention(weights(), SOURCE, TARGET, given[0, 0])
        with pytest.raises(ValueError, match="`ax` needs one entry"):
            plot_attention(weights(2, 3, 4), SOURCE, TARGET, given[0, 0])


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
        match = r"`weights` must be one or several.*one row: `weights\[0\]`"
        with pytest.raises(ValueError, match=match):
            plot_attention(wrong, SOURCE, TARGET)

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ((weights(), SOURCE[1:], TARGET), "`source_tokens` needs one tok"),
            ((weights(), SOURCE, SOURCE), "`target_tokens` needs one token"),
            (([weights()], SOURCE, [SOURCE]), "`target_tokens` needs one tok"),
            (
                (weights(2, 3, 4), [SOURCE], TARGET),
                "entry.* Received: 1 source_tokens for 2",
            ),
            (
                (weights(2, 3, 4), [SOURCE, SOURCE[1:]], TARGET),
                r"attention\. Received: 3",
            ),
        ],
    )
    def test_numbers_of_tokens_must_fit(self, given, match):
        with pytest.raises(ValueError, match=match):
            plot_attention(*given)

    @pytest.mark.parametrize(
        "plot", [plot_attention_batch, plot_attention_heads]
    )
    def test_titles_and_columns_must_fit(self, plot):
        given = weights(2, 3, 4), SOURCE, TARGET
        with pytest.raises(ValueError, match="`titles` needs one entry"):
            plot(*given, titles=["one"])
        with pytest.raises(ValueError, match="`columns` must be a positive"):
            plot(*given, columns=-1)


class TestBatch:
    sources = [[f"s{n}" for n in range(columns)] for _, columns in SHAPES]
    targets = [[f"t{n}" for n in range(rows)] for rows, _ in SHAPES]

    def padded(self):
        """Weights of seven sentences, padded to one size."""
        padded = np.zeros((7, 6, 9))
        for one, (rows, columns) in zip(padded, SHAPES, strict=True):
            one[:rows, :columns] = weights(rows, columns)
        return padded

    @pytest.mark.parametrize("kind", ["padded", "padded tokens", "listed"])
    def test_every_sentence_has_its_own_size(self, kind):
        sources, targets = self.sources, self.targets
        if kind == "padded tokens":
            sources = [[*x, *[b""] * (9 - len(x))] for x in sources]
            targets = [[*x, *[b""] * (6 - len(x))] for x in targets]
        listed = [weights(*shape) for shape in SHAPES]
        given = listed if kind == "listed" else self.padded()
        axes = plot_attention_batch(given, sources, targets)
        assert axes.shape == (7,)
        for n, ax in enumerate(axes):
            np.testing.assert_array_equal(matrix(ax), listed[n])
            assert labels(ax) == (self.sources[n], self.targets[n])

    @pytest.mark.slow
    def test_columns_titles_colors_and_their_scale(self):
        names = [f"sentence {n}" for n in range(7)]
        axes = plot_attention_batch(
            self.padded(),
            self.sources,
            self.targets,
            3,
            titles=names,
            cmap="viridis",
            vmax=None,
            colorbar=True,
        )
        assert grid(axes) == (3, 3)
        assert titles(axes) == names
        assert {ax.images[0].get_cmap().name for ax in axes} == {"viridis"}
        assert limits(axes) == {(0, 1)}
        assert len(axes[0].figure.axes) == 8  # none is empty


class TestHeads:
    def test_a_picture_a_head_and_words_at_the_edges_alone(self):
        heads = weights(4, 3, 4)
        axes = plot_attention_heads(heads, SOURCE, TARGET, columns=2)
        assert grid(axes) == (2, 2)
        assert titles(axes) == [f"head {n}" for n in range(1, 5)]
        wanted = [(SOURCE, TARGET), (SOURCE, []), ([], TARGET), ([], [])]
        assert [labels(ax) for ax in axes] == wanted
        for ax, head in zip(axes, heads, strict=True):
            np.testing.assert_array_equal(matrix(ax), head)

    def test_the_mean_comes_last(self):
        heads = weights(2, 3, 4)
        axes = plot_attention_heads(
            heads, SOURCE, TARGET, mean=True, titles=["words", "tags"]
        )
        assert titles(axes) == ["words", "tags", "mean"]
        np.testing.assert_allclose(matrix(axes[2]), (heads[0] + heads[1]) / 2)
        axes = plot_attention_heads(
            heads, ["a", "b", "", ""], ["c", "", ""], mean=True
        )
        assert [matrix(ax).shape for ax in axes] == [(1, 2)] * 3

    def test_several_sentences_are_not_heads(self):
        with pytest.raises(ValueError, match="plot_attention_batch"):
            plot_attention_heads(
                weights(2, 3, 4), [SOURCE, list("abcd")], TARGET
            )
