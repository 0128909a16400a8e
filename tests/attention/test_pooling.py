"""AttentionPooling: many to one."""

import keras
import numpy as np
from contracts.composed import MASK
from contracts.composed import ComposedLaws
from samples import to_numpy

from keras_attention import AttentionPooling


class TestAttentionPooling(ComposedLaws):
    layer_class = AttentionPooling
    init_kwargs = {"units": 4}

    def reference(self, x, mask, w):
        pooled, weights = [], []
        for rows, real in zip(x.astype("float64"), mask, strict=True):
            scores = [
                w["score_vector"] @ np.tanh(h @ w["kernel"]) for h in rows
            ]
            e = np.exp(scores) * real
            weights.append(e / max(e.sum(), 1e-300))
            pooled.append(weights[-1] @ rows)
        return np.array(pooled), np.array(weights)

    def test_keras_masks_are_used_and_end_here(self):
        ids = np.where(MASK, 3, 0)
        x = keras.layers.Embedding(5, 3, mask_zero=True)(ids)
        out, weights = self.layer()(x, return_attention_scores=True)
        assert (to_numpy(weights)[~MASK] == 0).all()
        assert getattr(out, "_keras_mask", None) is None

    def test_drops_in_training_alone(self):
        x = np.stack([np.eye(5, dtype="float32")] * 40)
        layer = self.layer(dropout=0.5, seed=1)
        pooled, weights = self.run(layer, x, training=True)
        kept = pooled / weights
        assert set(np.unique(kept.round(4))) == {0, 2}
        pooled, weights = self.run(layer, x)
        np.testing.assert_allclose(pooled, weights, atol=1e-6)


class TestDocuments:
    """Hierarchical attention: of words, then of sentences."""

    def build(self):
        documents = keras.Input((5, None), dtype="int32")  # 5 sentences
        words = keras.layers.Embedding(9, 5, mask_zero=True)(documents)
        pooled = AttentionPooling(3)
        sentences = keras.layers.TimeDistributed(pooled)(words)
        return keras.Model(documents, AttentionPooling(4)(sentences)), pooled

    def test_padding_of_words_and_sentences_is_left_out(self):
        model, pooled = self.build()
        ids = np.random.default_rng(0).integers(1, 9, (2, 5, 4))
        ids[0, 1, 2:] = ids[1, 1, 1:] = ids[:, 3:] = 0  # two are empty
        embed, whole = model.layers[1], model.layers[-1]
        sentences = [
            [pooled(embed(words[None, words != 0]))[0] for words in document]
            for document in ids[:, :3]
        ]
        want = to_numpy(whole(np.array(to_numpy(sentences))))
        np.testing.assert_allclose(model.predict(ids, verbose=0), want, 1e-5)
