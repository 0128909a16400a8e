"""Every text of a tiny vocabulary, scored in NumPy step by step."""

import itertools

import numpy as np
from keras import ops
from samples import to_numpy

START, END = 2, 3


def every_text(words, longest) -> np.ndarray:
    """List all that can be generated, `(N, longest)`, 0 after the end."""
    middle = [w for w in range(words) if w not in (0, START, END)]
    texts = []
    for size in range(1, longest + 1):
        for begin in itertools.product(middle, repeat=size - 1):
            last = [END] if size < longest else [END, *middle]
            texts += [[*begin, word] for word in last]
    rows = [text + [0] * (longest - len(text)) for text in texts]
    return np.array(rows, "int32")


def before(texts) -> np.ndarray:
    """The decoder's inputs of texts."""
    return np.pad(texts[:, :-1], ((0, 0), (1, 0)), constant_values=START)


def word_probabilities(model, source, texts) -> np.ndarray:
    """What a whole model says of each word: `(N, T)`, 1 at padding."""
    sources = np.repeat(source[None], len(texts), axis=0)
    scores = model((sources, before(texts)))
    every = to_numpy(ops.softmax(scores, axis=-1)).astype("float64")
    found = np.take_along_axis(every, texts[..., None], -1)[..., 0]
    return np.where(texts == 0, 1.0, found)


def check_best(found, row, texts, scores, rtol=1e-5):
    """Compare row `row` of a `Generation` with the best of all texts."""
    order = np.argsort(-scores, kind="stable")[: found.scores.shape[1]]
    np.testing.assert_allclose(found.scores[row], scores[order], rtol=rtol)
    np.testing.assert_array_equal(found.tokens[row], texts[order])
