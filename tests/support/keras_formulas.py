"""Small models, and what they compute: NumPy in float64, one row at a time."""

import keras
import numpy as np
from keras import layers
from reference import additive
from reference import gru
from reference import lstm
from reference import named_weights

import keras_attention as ka

VOCABULARY, FEATURES = 20, 5


def softmax(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def run_cell(cell, step, x, states, backwards=False):
    """Run a cell's formula over `x (T, D)`: outputs `(T, U)`."""
    weights, outputs = named_weights(cell), [None] * len(x)
    order = range(len(x))[:: -1 if backwards else 1]
    for t in order:
        outputs[t], states = step(x[t], states, weights)
    return np.array(outputs)


def classifier():
    """Words, read in both directions and averaged by attention."""
    ids = keras.Input((None,), dtype="int32", name="words")
    embedding = layers.Embedding(VOCABULARY, 4, mask_zero=True)
    both = layers.Bidirectional(layers.LSTM(3, return_sequences=True))
    pooling, dense = ka.AttentionPooling(4), layers.Dense(2, name="class")
    model = keras.Model(ids, dense(pooling(both(embedding(ids)))))

    def compute(words):
        x = named_weights(embedding)["embeddings"][words[words > 0]]
        zeros = [np.zeros(3), np.zeros(3)]
        sides = both.forward_layer.cell, both.backward_layer.cell
        h = np.concatenate(
            [
                run_cell(cell, lstm, x, zeros, backwards)
                for cell, backwards in zip(sides, (False, True), strict=True)
            ],
            axis=1,
        )
        w = named_weights(pooling)
        weights = softmax(np.tanh(h @ w["kernel"]) @ w["score_vector"])
        out = named_weights(dense)
        return {"class": weights @ h @ out["kernel"] + out["bias"]}

    return model, compute


def tagger():
    """A stack that ends backwards, a label a step, and the last state."""
    signal = keras.Input((None, FEATURES), name="signal")
    first = layers.GRU(4, return_sequences=True)
    second = layers.GRU(
        3, return_sequences=True, go_backwards=True, return_state=True
    )
    each = layers.TimeDistributed(layers.Dense(2), name="labels")
    outputs, state = second(first(signal))
    model = keras.Model(signal, {"labels": each(outputs), "state": state})

    def compute(signal):
        h = run_cell(first.cell, gru, signal, [np.zeros(4)])
        h = run_cell(second.cell, gru, h, [np.zeros(3)], backwards=True)[::-1]
        out = named_weights(each.layer)
        return {"labels": h @ out["kernel"] + out["bias"], "state": h[-1]}

    return model, compute


def detector():
    """Convolution, pooling and a dense layer, without a recurrent one."""
    signal = keras.Input((None, FEATURES), name="signal")
    convolve = layers.Conv1D(4, 3, padding="causal", activation="relu")
    dense = layers.Dense(2, activation="sigmoid", name="found")
    pooled = layers.GlobalMaxPooling1D()(
        layers.MaxPooling1D(2)(convolve(signal))
    )
    model = keras.Model(signal, dense(pooled))

    def compute(signal):
        w, out = named_weights(convolve), named_weights(dense)
        padded = np.concatenate([np.zeros((2, FEATURES)), signal])
        windows = [padded[t : t + 3] for t in range(len(signal))]
        x = np.einsum("tkd,kdu->tu", windows, w["kernel"]) + w["bias"]
        x = np.maximum(x, 0)[: len(x) // 2 * 2].max(axis=0)
        x = x @ out["kernel"] + out["bias"]
        return {"found": 1 / (1 + np.exp(-x))}

    return model, compute


def matcher():
    """Two sequences, of which one attends to the other; a mask is an input."""
    query = keras.Input((None, FEATURES), name="query")
    value = keras.Input((None, FEATURES), name="value")
    mask = keras.Input((None,), dtype="bool", name="value_mask")
    attention = layers.AdditiveAttention(name="context")
    layer = ka.BahdanauAttention(4, name="weights")
    context = attention([query, value], mask=[None, mask])
    _, weights = layer(
        query, value, value_mask=mask, return_attention_scores=True
    )
    model = keras.Model(
        {"query": query, "value": value, "value_mask": mask},
        {"context": context, "weights": weights},
    )

    def compute(query, value, value_mask):
        value = value[value_mask]
        scale = named_weights(attention)["scale"]
        scores = (np.tanh(query[:, None] + value) * scale).sum(axis=-1)
        w = named_weights(layer)
        ours = [[additive(q, k, w) for k in value] for q in query]
        weights = np.zeros((len(query), len(value_mask)))
        weights[:, value_mask] = [softmax(np.array(x)) for x in ours]
        context = np.array([softmax(x) @ value for x in scores])
        return {"context": context, "weights": weights}

    return model, compute


MODELS = {x.__name__: x for x in (classifier, tagger, detector, matcher)}


def sample_of(model, rows=3, length=7, seed=0):
    """Draw inputs by their names, rows of several lengths."""
    draw, batch = np.random.default_rng(seed), {}
    for x in model.inputs:
        shape = rows, length, *x.shape[2:]
        real = np.arange(length) < draw.integers(2, length + 1, (rows, 1))
        if x.dtype == "int32":
            batch[x.name] = draw.integers(1, VOCABULARY, shape) * real
        else:
            batch[x.name] = (
                real if x.dtype == "bool" else draw.normal(size=shape)
            )
        batch[x.name] = batch[x.name].astype(x.dtype)
    return batch


def expected(compute, batch):
    """Compute every row of a batch, in float64."""
    batch = {
        name: x.astype("float64") if x.dtype == "float32" else x
        for name, x in batch.items()
    }
    found = []
    for row in zip(*batch.values(), strict=True):
        found.append(compute(**dict(zip(batch, row, strict=True))))
    return {name: np.stack([row[name] for row in found]) for name in found[0]}
