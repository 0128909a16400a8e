"""AbstractModel: a model of somebody else does what a Seq2Seq does.

`text/test_parallel.py` saves and exports it, as a member of an ensemble.
"""

import keras
import numpy as np
import pytest
from keras import ops
from samples import to_numpy
from word_by_word import table_model

from keras_attention import AbstractModel
from keras_attention import BeamSearch
from keras_attention import GreedySearch
from keras_attention import Shortlist

WORDS = 8  # start, end, and four words behind padding and unknown ones
SOURCE = np.array([[2, 4, 5, 3], [2, 6, 3, 0]], "int32")


@pytest.mark.usefixtures("without_graphs")
@pytest.mark.parametrize("prefix", [None, [[5], [6]]])
def test_it_generates_what_it_says_of_known_words(prefix):
    model = table_model(WORDS)
    found = model.generate(SOURCE, GreedySearch(max_length=5), prefix)
    tokens = to_numpy(found.tokens)[:, 0]
    assert prefix is None or (tokens[:, :1] == prefix).all()
    before = np.pad(tokens[:, :-1], ((0, 0), (1, 0)), constant_values=2)
    log_probs = to_numpy(ops.log_softmax(model((SOURCE, before))))
    taken = np.take_along_axis(log_probs, tokens[..., None], -1)[..., 0]
    want = (taken * (tokens != 0)).sum(axis=1)
    np.testing.assert_allclose(found.scores[:, 0], want, atol=1e-5)
    assert found.weights.shape == (2, 1, 5, 4)
    again = model.generate(SOURCE, BeamSearch(1, max_length=5), prefix)
    np.testing.assert_array_equal(again.tokens, found.tokens)


def test_it_goes_on_by_what_has_changed():
    model, search = table_model(WORDS), GreedySearch(max_length=3)
    before = model.version
    assert model.version == before
    model.changes += 1
    assert model.version > before
    with pytest.raises(ValueError, match="`shortlist` needs a model whose"):
        model.generate(SOURCE, search, shortlist=Shortlist([[0]], [1]))


def test_what_is_missing_is_named():
    class Empty(AbstractModel):
        source_vocabulary_size = target_vocabulary_size = WORDS

    model = Empty()
    model.built = True
    with pytest.raises(NotImplementedError, match=r"define `begin\(source"):
        model.generate(SOURCE)
    with pytest.raises(NotImplementedError, match=r"define `next_word\(tok"):
        model.next_word(None, None, None)
    with pytest.raises(NotImplementedError, match=r"define `attend\(source"):
        model.attend(None, None)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_xla_compiles_each_shape(jit_compile):
    model = table_model(WORDS)
    model.compile(jit_compile=jit_compile)
    uses_xla = model.jit_compile
    is_jax = keras.backend.backend() == "jax"
    assert model.compiles_each_shape == (uses_xla or is_jax)
