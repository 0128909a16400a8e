"""PointerGenerator: See 2017, one word at a time."""

import keras
import numpy as np
import pytest
import samples
from gradients import differentiate
from keras import ops
from samples import assert_close
from samples import draw
from samples import to_numpy

from keras_attention import PointerGenerator

V = 6
SOURCE = np.array([[2, 4, 6 + 2, 4, 6 + 2, 3], [2, 6 + 1, 3, 0, 0, 0]])
SHAPE = 2, 3, 6  # rows, steps, source words
PADDING = SOURCE == 0


def weights(dtype="float64"):
    """Weights of a source: 0 at padding, and at one real position too."""
    drawn = np.exp(draw(*SHAPE, seed=1))
    drawn[0, 1, 1] = drawn[0, 1, 3] = 0
    drawn = np.where(PADDING[:, None], 0, drawn)
    return (drawn / drawn.sum(-1, keepdims=True)).astype(dtype)


def arrays(dtype="float64"):
    logits = draw(2, 3, V, seed=2, dtype=dtype)
    return logits, draw(2, 3, 5, seed=3, dtype=dtype), weights(dtype)


def make(dtype="float64"):
    layer = PointerGenerator(V, dtype=dtype)
    layer.build((None, None, V), (None, None, 5))
    samples.randomize(layer)
    return layer


def formula(layer, logits, features, weights, source):
    """Probabilities of one row's one step, word by word."""
    kernel, bias = (to_numpy(w).astype("float64") for w in layer.weights)
    generate = 1 / (1 + np.exp(-(features @ kernel[:, 0] + bias[0])))
    softmax = np.exp(logits) / np.exp(logits).sum()
    p = np.zeros(V + len(source))
    p[:V] = generate * softmax
    for weight, word in zip(weights, source, strict=True):
        p[word] += (1 - generate) * weight
    return p


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_agrees_with_the_paper(dtype):
    layer, given = make(dtype), arrays(dtype)
    found = np.exp(to_numpy(layer(*given, SOURCE)))
    assert found.shape == (2, 3, V + 6)
    assert found.dtype == dtype
    want = [
        [formula(layer, *one, row) for one in zip(*steps, strict=True)]
        for *steps, row in zip(*given, SOURCE, strict=True)
    ]
    assert_close(found, np.array(want), 2e-6 if dtype == "float32" else 1e-12)
    assert_close(found.sum(-1), np.ones((2, 3)), 1e-5)


def test_what_is_not_there_is_impossible():
    layer = make()
    logits, features, given = arrays()
    copies = layer.prepare(SOURCE)
    found = to_numpy(layer.mix(logits, features, given, copies, -np.inf))
    there = np.zeros((2, 6), bool)
    there[0, 2] = there[1, 1] = True  # first places of words without an id
    there = np.broadcast_to(there[:, None], SHAPE)
    np.testing.assert_array_equal(found[..., V:] > -np.inf, there)
    assert np.isfinite(found[..., :V]).all()
    trained = to_numpy(layer(logits, features, given, SOURCE))
    assert (trained[..., V:][~there] == -30).all()


def test_gradients_agree_with_differences():
    layer = make()
    cotangent = draw(2, 3, V + 6, seed=4)
    given = list(arrays())

    def run(*tensors):
        out = layer(*tensors, SOURCE)
        return ops.sum(out * ops.convert_to_tensor(cotangent))

    def value(changed):
        return float(to_numpy(run(*map(ops.convert_to_tensor, changed))))

    _, found = differentiate(run, given, layer.trainable_variables)
    step = 1e-5
    for k, array in enumerate(given):
        for place in [(0, 0, 0), (0, 2, 4), (1, 1, 1)]:
            if k == 2 and PADDING[place[0], place[2]]:
                continue
            moved = []
            for sign in (1, -1):
                one = array.copy()
                one[place] += sign * step
                moved.append(value([*given[:k], one, *given[k + 1 :]]))
            slope = (moved[0] - moved[1]) / (2 * step)
            assert found[k][place] == pytest.approx(slope, abs=1e-5)
    assert all(np.isfinite(g).all() for g in found)
    assert all(np.abs(g).sum() > 0 for g in found)


def test_half_precision_is_summed_in_single():
    layer = make("float16")
    found = layer(*arrays("float16"), SOURCE)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    assert_close(np.exp(to_numpy(found)).sum(-1), np.ones((2, 3)), 2e-3)


def test_shapes_are_told():
    given = [keras.KerasTensor((None, 3, size)) for size in (V, 5, 6)]
    out = make("float32")(*given, keras.KerasTensor((None, 6), "int32"))
    assert out.shape == (None, 3, V + 6)
    given[2] = keras.KerasTensor((None, 3, None))
    out = make("float32")(*given, keras.KerasTensor((None, None), "int32"))
    assert out.shape == (None, 3, None)


def test_a_vocabulary_has_words():
    with pytest.raises(ValueError, match="vocabulary_size"):
        PointerGenerator(0)
