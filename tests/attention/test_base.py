"""AbstractAttention: what a subclass inherits, and what it must write."""

import keras
import numpy as np
import pytest
from contract import AttentionContract
from keras import ops

from keras_attention import AbstractAttention
from keras_attention import ChunkwiseAttention
from keras_attention import DotAttention
from keras_attention import GaussianMixtureAttention
from keras_attention import Monotonic
from keras_attention import MultiHead
from keras_attention.ops import first_position


@keras.saving.register_keras_serializable(package="tests")
class ClockAttention(AbstractAttention):
    """Step `t` gives the real position `j` the weight `exp(-|t - j|)`."""

    state_count = 1

    def __init__(self, dropout=0.0, seed=None, **kwargs):
        super().__init__(None, dropout, seed, **kwargs)

    def first_state(self, real):
        return (first_position(real),)

    def weigh(self, query, memory, mask, state, noise):
        (time,) = state
        words = ops.arange(ops.shape(memory.values)[1], dtype=time.dtype)
        weights = ops.exp(-ops.abs(time - words))
        if mask is not None:
            weights = ops.where(mask, weights, 0.0)
        return weights, (time + 1,)


class TestWithoutScores(AttentionContract):
    layer_class = ClockAttention

    def reference_weights(self, query, key, mask, real, weights):
        steps, words = np.indices(mask.shape)
        return np.exp(-abs(steps - words)) * mask


class TestErrors:
    def test_a_score_must_be_written(self):
        class Unfinished(AbstractAttention):
            pass

        with pytest.raises(NotImplementedError, match=r"Unfinished .*`score"):
            Unfinished()(np.ones((1, 1, 2)), np.ones((1, 1, 2)))

    def test_a_score_has_three_axes(self):
        class Flat(AbstractAttention):
            def score(self, query, keys):
                return query[..., 0]

        with pytest.raises(ValueError, match=r"Flat needs `score`.*\(B, Tq, T"):
            Flat()(np.ones((1, 2, 3)), np.ones((1, 4, 3)))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"query": np.ones((2, 4))}, r"`query` of the shape \(B, Tq, Dq\)"),
            ({"query": np.ones((3, 4, 4))}, "queries and values with the same"),
            ({"value": np.ones((2, 4))}, r"`value` of the shape \(B, Tv, Dv\)"),
            ({"value": np.ones((5, 4))}, r"`value` of the shape \(B, Tv, Dv\)"),
            ({"key": np.ones((2, 6, 4))}, "one `key` for each `value`"),
            (
                {"value_mask": np.array([3, 5])},
                r"lengths.*< lengths\[:, None\]",
            ),
            ({"value_mask": np.ones((2, 4), bool)}, "`value_mask` as booleans"),
            ({"query_mask": np.ones((2, 5), bool)}, "`query_mask` as booleans"),
            ({"attention_mask": np.ones((2, 4, 4), bool)}, "broadcasts"),
            ({"attention_mask": np.ones((1, 2, 3, 5), bool)}, "broadcasts"),
        ],
    )
    def test_names_the_shape_that_does_not_fit(self, change, words):
        given = {"query": np.ones((2, 3, 4)), "value": np.ones((2, 5, 4))}
        with pytest.raises(ValueError, match=words):
            DotAttention()(**{**given, **change})

    @pytest.mark.parametrize(
        ("kind", "arguments", "reason"),
        [
            (GaussianMixtureAttention, [2], "densities"),
            (MultiHead, [DotAttention(), 2], "its attention"),
            (
                ChunkwiseAttention,
                [DotAttention(alignment=Monotonic()), DotAttention(), 2],
                "its attentions",
            ),
        ],
    )
    def test_some_have_no_alignment_of_their_own(self, kind, arguments, reason):
        message = (
            f"{kind.__name__} does not accept `alignment`.*{reason}.*Received"
        )
        with pytest.raises(ValueError, match=message):
            kind(*arguments, alignment="softmax")

    def test_a_step_takes_queries_with_an_axis(self):
        layer = DotAttention()
        layer.build((None, None, 4), (None, None, 4))
        memory = layer.prepare(np.ones((2, 5, 4)))
        with pytest.raises(ValueError, match=r"`query`.*\(B, K, Dq\)"):
            layer.step(np.ones((2, 4)), memory)
