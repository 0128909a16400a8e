"""Larger vocabularies: old rows are unchanged, new ones are the mean."""

import numpy as np
import pytest
from samples import to_numpy
from seq2seqs import SOURCE
from seq2seqs import TARGET
from seq2seqs import WORDS
from seq2seqs import small_model

from keras_attention import Ensemble
from keras_attention import HardAttention
from keras_attention import LuongGeneral
from keras_attention.translation.extension import extended_model

pytestmark = pytest.mark.usefixtures("without_graphs")
MORE = 3
KINDS = {
    "dense": {},
    "tied": {"layer_size": 5, "tie_embeddings": True},
    "lexical": {"lexical": True},
    "hard": {"attention": None, "output": "hard"},
    "dropout": {"dropout": 0.2, "scheduled_sampling": True},
}


def make(kind):
    options = dict(KINDS[kind])
    if kind == "hard":
        options["output"] = HardAttention(LuongGeneral(), 4, order=1)
    return small_model(**options)


@pytest.mark.parametrize("kind", KINDS)
def test_old_entries_keep_their_share(kind):
    """`log p(old) - log p(other old)` is unchanged; new ones are alike."""
    model = make(kind)
    before = [to_numpy(x) for x in model.weights]
    larger = extended_model(model, WORDS + 1, WORDS + MORE)
    old, new = (
        to_numpy(x.log_probabilities(x((SOURCE, TARGET))))
        for x in (model, larger)
    )
    assert new.shape == (*TARGET.shape, WORDS + MORE)
    real = TARGET != 0
    old, new = np.exp(old[real]), np.exp(new[real])
    np.testing.assert_allclose(new.sum(-1), 1, rtol=1e-5)
    kept = new[:, :WORDS].sum(-1, keepdims=True)
    np.testing.assert_allclose(new[:, WORDS:].min(-1), new[:, WORDS:].max(-1))
    assert np.all(kept >= WORDS / (WORDS + MORE) - 1e-6)
    if kind != "hard":  # which mixes positions
        np.testing.assert_allclose(new[:, :WORDS] / kept, old, rtol=1e-4)
    for x, y in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(to_numpy(x), y)


def test_new_rows_are_the_mean():
    model = small_model(dtype="float16")
    larger = extended_model(model, WORDS + MORE, WORDS)
    for x, y in zip(model.weights, larger.weights, strict=True):
        x, y = to_numpy(x), to_numpy(y)
        if x.shape == y.shape:
            np.testing.assert_array_equal(x, y)
            continue
        np.testing.assert_array_equal(y[:WORDS], x)
        mean = x.astype("float32").mean(axis=0).astype("float16")
        np.testing.assert_array_equal(y[WORDS:], [mean] * MORE)
    assert larger.source_vocabulary_size == WORDS + MORE
    assert larger.target_vocabulary_size == WORDS
    assert not larger.compiled
    same = extended_model(model, 5, 5)  # it has more, and keeps them
    assert same.source_vocabulary_size == same.target_vocabulary_size == WORDS


def test_models_that_cannot_grow_are_refused():
    model = small_model()
    with pytest.raises(
        ValueError, match=r"Received: Ensemble\. Extend each of its mem"
    ):
        extended_model(Ensemble([model, model]), WORDS, WORDS)
    unbuilt = type(model).from_config(model.get_config())
    with pytest.raises(ValueError, match="extended needs weights, which"):
        extended_model(unbuilt, WORDS, WORDS)
    model.output_layer.enable_lora(1)
    with pytest.raises(ValueError, match="or LoRA weights"):
        extended_model(model, WORDS, WORDS + 1)
