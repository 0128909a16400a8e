"""AbstractAttention: what a subclass inherits, and what it must write."""

import keras
import numpy as np
import pytest
from contract import AttentionContract
from keras import ops

from keras_attention import AbstractAttention
from keras_attention import DotAttention
from keras_attention.ops import widen


@keras.saving.register_keras_serializable(package="tests")
class DistanceAttention(AbstractAttention):
    """The least that a layer of one's own needs: a score."""

    def score(self, query, keys):
        query, keys = widen(query), widen(keys)
        far = ops.expand_dims(query, 2) - ops.expand_dims(keys, 1)
        return -ops.sum(ops.square(far), axis=-1)  # (B, Tq, Tv)


class TestAbstractAttention(AttentionContract):
    layer_class = DistanceAttention
    query_size = value_size = key_size = 4

    def reference_score(self, query, key, _):
        return -np.sum((query - key) ** 2)


class TestErrors:
    def test_a_score_must_be_written(self):
        class Unfinished(AbstractAttention):
            pass

        with pytest.raises(NotImplementedError, match=r"Unfinished .*`score"):
            Unfinished()(np.ones((1, 1, 2)), np.ones((1, 1, 2)))

    @pytest.mark.parametrize("dropout", [-0.1, 1.0, 2])
    def test_refuses_dropout_out_of_range(self, dropout):
        with pytest.raises(ValueError, match=r"`dropout` must be in \[0, 1\)"):
            DotAttention(dropout=dropout)

    @pytest.mark.parametrize("alignment", ["hardmax", ""])
    def test_refuses_an_unknown_alignment(self, alignment):
        with pytest.raises(ValueError, match=r"`alignment`.*'softmax'"):
            DotAttention(alignment=alignment)
