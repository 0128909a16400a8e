"""Drawing: the last of the numbers, and the first, where rounding strikes."""

import numpy as np
from keras import ops

from keras_attention.search import draw_tokens


def test_no_token_of_probability_zero():
    rng = np.random.default_rng(0)
    probs = rng.random((200, 1, 1000)) ** 8
    probs *= rng.random(probs.shape) < 0.5
    probs[:, :, [0, -1]] = 0
    with np.errstate(divide="ignore"):
        log_probs = np.log(probs / probs.sum(-1, keepdims=True))
    for luck in (0.0, 0.5, 1 - 2**-24, 1.0):
        for options in ({}, {"top_k": 600}, {"top_p": 0.999999}):
            tokens = draw_tokens(
                ops.convert_to_tensor(log_probs, "float32"),
                ops.full((200, 1, 1), luck, "float32"),
                **options,
            )
            drawn = ops.convert_to_numpy(tokens)
            taken = np.take_along_axis(probs[:, 0], drawn, axis=-1)
            assert (taken > 0).all()


def test_rounding_of_sums_draws_none_either(monkeypatch):
    """Where sums are taken in parallel, they may rise over a zero."""
    sums = np.array([[[0.5, 0.501, 1.001]]], "float32")
    monkeypatch.setattr(ops, "cumsum", lambda *_, **__: sums)
    log_probs = np.array([[[0.0, -np.inf, 0.0]]], "float32")
    tokens = draw_tokens(
        ops.convert_to_tensor(log_probs), ops.full((1, 1, 1), 0.4998)
    )
    assert ops.convert_to_numpy(tokens).tolist() == [[2]]


def test_nothing_is_drawn_where_there_is_nothing():
    log_probs = ops.full((2, 1, 5), -np.inf, "float32")
    for options in ({}, {"top_k": 2}, {"top_p": 0.5}):
        tokens = draw_tokens(log_probs, ops.zeros((2, 1, 1)), **options)
        drawn = ops.convert_to_numpy(tokens)
        assert drawn.shape == (2, 1)
        assert ((drawn >= 0) & (drawn < 5)).all()


def test_luck_is_shared_out_by_probability():
    probs = np.array([0.1, 0.0, 0.6, 0.3])
    luck = (np.arange(1000) + 0.5) / 1000
    with np.errstate(divide="ignore"):
        log_probs = np.broadcast_to(np.log(probs), (1000, 1, 4))
    tokens = draw_tokens(
        ops.convert_to_tensor(log_probs, "float32"),
        ops.convert_to_tensor(luck.reshape(-1, 1, 1), "float32"),
    )
    counts = np.bincount(ops.convert_to_numpy(tokens).ravel(), minlength=4)
    np.testing.assert_allclose(counts, 1000 * probs, atol=1)
