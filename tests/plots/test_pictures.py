"""Weights and tokens: what fits, what is padding, and what is neither."""

import keras
import numpy as np
import pytest
from drawn import SOURCE
from drawn import TARGET
from drawn import weights

from keras_attention.plots.pictures import check_one_each
from keras_attention.plots.pictures import read_arrays
from keras_attention.plots.pictures import read_pictures
from keras_attention.plots.pictures import read_tokens
from keras_attention.plots.pictures import real


class TestWeights:
    def test_tensors_of_any_dtype_become_floats(self):
        tensor = keras.ops.convert_to_tensor([[0.5, 0.25]], "bfloat16")
        for given in (tensor, [tensor[0]], [[0.5, 0.25]]):
            (array,) = read_arrays(given)
            assert array.dtype == float
            np.testing.assert_array_equal(array, [0.5, 0.25])

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
            read_pictures(wrong, SOURCE, TARGET)

    def test_one_matrix_is_not_several(self):
        assert not read_pictures(weights(), SOURCE, TARGET)[1]
        assert read_pictures([weights()], SOURCE, TARGET)[1]
        assert read_pictures(weights(1, 3, 4), SOURCE, TARGET)[1]


class TestTokens:
    def test_bytes_and_arrays(self):
        source = np.array(["é".encode(), b"b", b"c", b"\xff"])
        (found,) = read_tokens("source_tokens", source, [weights()], 1)
        assert found == ["é", "b", "c", "\ufffd"]

    def test_one_list_serves_all_matrices(self):
        pictures, _ = read_pictures(weights(2, 3, 4), SOURCE, TARGET)
        assert [p[1:] for p in pictures] == [(SOURCE, TARGET)] * 2

    def test_numbers_of_tokens_must_fit(self):
        with pytest.raises(ValueError, match="`source_tokens` needs one token"):
            read_pictures(weights(), SOURCE[1:], TARGET)
        with pytest.raises(ValueError, match="`target_tokens` needs one token"):
            read_pictures(weights(), SOURCE, SOURCE)
        with pytest.raises(ValueError, match="`target_tokens` needs one token"):
            read_pictures([weights()], SOURCE, [SOURCE])
        with pytest.raises(ValueError, match="`source_tokens` needs one entry"):
            read_pictures(weights(2, 3, 4), [SOURCE], TARGET)

    def test_one_value_a_picture(self):
        check_one_each("titles", ["a", "b"], weights(2, 3, 4))
        with pytest.raises(ValueError, match="Received: 1 for 2"):
            check_one_each("titles", ["a"], weights(2, 3, 4))


class TestPadding:
    @pytest.mark.parametrize(
        ("tokens", "count"),
        [(["a", "b"], 2), (["", "a", "", ""], 2), (["", ""], 1), ([], 1)],
    )
    def test_tokens_end_with_the_last_that_is_not_empty(self, tokens, count):
        assert real(tokens) == count

    def test_padding_at_the_end_is_left_out(self):
        source, target = ["", "a", "", ""], ["b", b"", ""]
        (picture,), _ = read_pictures(weights(), source, target)
        assert picture[1:] == (["", "a"], ["b"])
        np.testing.assert_array_equal(picture.matrix, weights()[:1, :2])

    def test_lists_of_each_sentence_may_leave_padding_out(self):
        padded = np.zeros((2, 3, 4))
        padded[0], padded[1, :, :2] = weights(), 0.5
        pictures, _ = read_pictures(
            padded, [SOURCE, ["ja", "!"]], [TARGET, ["yes"]]
        )
        assert [p.matrix.shape for p in pictures] == [(3, 4), (1, 2)]
        assert pictures[1][1:] == (["ja", "!"], ["yes"])

    def test_what_holds_attention_is_no_padding(self):
        sources = [SOURCE, SOURCE[1:]]
        with pytest.raises(ValueError, match=r"holds attention\. Received: 3"):
            read_pictures(weights(2, 3, 4), sources, TARGET)
