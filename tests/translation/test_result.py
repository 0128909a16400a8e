"""read_answers: arrays of the graph to what a user reads."""

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    from keras_attention.translation import Translation
    from keras_attention.translation import read_answers

TOKENS = "source_tokens", "target_tokens"


def batch(count):
    """One sentence: two words in, texts of one and two words out."""
    targets = [[b"x", b"</s>", b""], [b"y", b"z", b"</s>"]][:count]
    answer = {
        "translations": np.array([b"x", "y \uac00".encode()][:count], object),
        "scores": np.array([-0.5, -1.0][:count], np.float32),
        "source_tokens": np.array([b"<s>", b"a", b"</s>", b""], object),
        "target_tokens": np.array(targets, object),
        "attention": np.ones((count, 3, 4), np.float32),
        "token_scores": -np.ones((count, 3), np.float32),
    }
    return {name: x[None] for name, x in answer.items()}


def test_one_text_stands_alone():
    [read] = read_answers(batch(1))
    assert read.texts == "x"
    assert read.scores == -0.5
    assert read.source_tokens == ["<s>", "a", "</s>"]
    assert read.target_tokens == ["x", "</s>"]
    assert read.attention.shape == (2, 3)
    assert read.token_scores.tolist() == [-1, -1]


def test_several_texts_come_as_lists():
    [read] = read_answers(batch(2))
    assert read.texts == ["x", "y \uac00"]
    assert read.scores == [-0.5, -1.0]
    assert read.target_tokens == [["x", "</s>"], ["y", "z", "</s>"]]
    assert [x.shape for x in read.attention] == [(2, 3), (3, 3)]
    assert [x.tolist() for x in read.token_scores] == [[-1, -1], [-1, -1, -1]]


def test_what_was_not_asked_for_is_none():
    answer = batch(1)
    for name in (*TOKENS, "attention", "token_scores"):
        del answer[name]
    [read] = read_answers(answer)
    assert read == Translation("x", -0.5)
