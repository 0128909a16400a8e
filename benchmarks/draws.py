"""Weights and data of the measured work, the same for all sides."""

import math

import numpy as np
from works import END
from works import START
from works import AttentionWork
from works import CrossentropyWork
from works import DecoderWork
from works import EncoderWork
from works import FitWork
from works import SearchWork
from works import ServingWork

GATES = {"lstm": 4, "gru": 3}


def _normal(draw, *shape):
    """Draw a kernel that keeps the variance of its inputs."""
    scale = 1 / math.sqrt(shape[-2] if len(shape) > 1 else shape[0])
    return (scale * draw.standard_normal(shape)).astype("float32")


def _embeddings(draw, work):
    """Draw an embedding table; models scale its rows by `sqrt(size)`."""
    table = draw.standard_normal((work.vocabulary, work.size))
    return (table / math.sqrt(work.size)).astype("float32")


def _cell_weights(draw, cell, inputs, units):
    gates = GATES[cell] * units
    bias = (2, gates) if cell == "gru" else (gates,)
    return {
        "kernel": _normal(draw, inputs, gates),
        "recurrent_kernel": _normal(draw, units, gates),
        "bias": (0.1 * draw.standard_normal(bias)).astype("float32"),
    }


def decoder_weights(work: DecoderWork) -> dict:
    """Draw the decoder's weights; names of cell `i` end in `_i`."""
    draw = np.random.default_rng(0)
    fed = work.layer or work.units
    weights = {}
    for i in range(work.depth):
        inputs = work.units if i else work.size + fed
        found = _cell_weights(draw, work.cell, inputs, work.units)
        weights |= {f"{name}_{i}": value for name, value in found.items()}
    if work.score == "additive":
        size = work.layer or work.units
        weights["query_kernel"] = _normal(draw, work.units, size)
        weights["key_kernel"] = _normal(draw, work.units, size)
        weights["score_vector"] = _normal(draw, size)
    else:
        weights["score_kernel"] = _normal(draw, work.units, work.units)
    if work.layer:
        weights["attention_kernel"] = _normal(draw, 2 * work.units, work.layer)
    return weights


def decoder_arrays(work: DecoderWork) -> dict:
    """Draw weights, inputs, memory, and the cotangent of the outputs."""
    draw = np.random.default_rng(1)
    out = work.units if work.output == "cell" else work.layer or work.units
    shapes = {
        "inputs": (work.batch, work.steps, work.size),
        "memory": (work.batch, work.words, work.units),
        "cotangent": (work.batch, work.steps, out),
    }
    data = {
        name: draw.standard_normal(shape).astype("float32")
        for name, shape in shapes.items()
    }
    return {**decoder_weights(work), **data}


def attention_arrays(work: AttentionWork) -> dict:
    """Draw inputs, the score's vector, and the cotangent of the outputs."""
    draw = np.random.default_rng(0)
    lengths = {
        "query": work.queries,
        "value": work.words,
        "key": work.words,
        "cotangent": work.queries,
    }
    arrays = {
        name: draw.standard_normal((work.batch, length, work.units))
        for name, length in lengths.items()
    }
    arrays = {name: x.astype("float32") for name, x in arrays.items()}
    return {"score_vector": _normal(draw, work.units), **arrays}


def encoder_arrays(work: EncoderWork) -> dict:
    """Draw weights, inputs, and the cotangent of the outputs."""
    draw = np.random.default_rng(3)
    arrays = {}
    for side in ("forward", "backward"):
        found = _cell_weights(draw, "lstm", work.size, work.units)
        arrays |= {f"{side}_{name}": value for name, value in found.items()}
    for name, size in {
        "inputs": work.size,
        "cotangent": 2 * work.units,
    }.items():
        shape = work.batch, work.words, size
        arrays[name] = draw.standard_normal(shape).astype("float32")
    return arrays


def decoder_of_search(work: SearchWork) -> DecoderWork:
    """Return the sizes of the decoder of a search."""
    return DecoderWork(units=work.units, size=work.size, order="luong")


def decoder_of_fit(work: FitWork) -> DecoderWork:
    """Return the sizes of the decoder of the trained model."""
    return DecoderWork(
        units=2 * work.units,
        size=work.size,
        order="luong",
        layer=work.size,
        output="attention",
    )


def search_arrays(work: SearchWork) -> dict:
    """Draw weights and memory; the bias excludes start, end and padding."""
    draw = np.random.default_rng(2)
    arrays = decoder_weights(decoder_of_search(work))
    bias = draw.standard_normal(work.vocabulary).astype("float32")
    bias[[0, START, END]] = -1e9
    return {
        **arrays,
        "embeddings": _embeddings(draw, work),
        "output_kernel": 4 * _normal(draw, work.units, work.vocabulary),
        "output_bias": bias,
        "memory": draw.standard_normal(
            (work.batch, work.words, work.units)
        ).astype("float32"),
    }


def fit_weights(work: FitWork) -> dict:
    """Draw the weights of the whole model."""
    draw = np.random.default_rng(0)
    weights = {}
    for side in ("source", "target"):
        weights[f"{side}_embeddings"] = _embeddings(draw, work)
    for side in ("forward", "backward"):
        found = _cell_weights(draw, "lstm", work.size, work.units)
        weights |= {f"{side}_{name}": value for name, value in found.items()}
    weights |= decoder_weights(decoder_of_fit(work))
    weights["output_kernel"] = _normal(draw, work.size, work.vocabulary)
    weights["output_bias"] = np.zeros(work.vocabulary, "float32")
    return weights


def serving_weights(work: ServingWork) -> dict:
    """Draw the weights of a model that generates neither signs nor an end."""
    weights = fit_weights(FitWork(work.vocabulary, work.size, work.units))
    weights["output_kernel"] = 4 * weights["output_kernel"]
    draw = np.random.default_rng(3)
    bias = draw.standard_normal(work.vocabulary).astype("float32")
    bias[: END + 1] = -1e9
    return {**weights, "output_bias": bias}


def serving_words(work: ServingWork) -> list[str]:
    """Name the words behind the ids 4, 5, and so on."""
    return [f"w{i}" for i in range(END + 1, work.vocabulary)]


def serving_sources(work: ServingWork) -> np.ndarray:
    """Draw sources, framed and padded: ids `(sentences, longest + 2)`."""
    draw = np.random.default_rng(4)
    ids = np.zeros((work.sentences, work.longest + 2), "int32")
    for row in ids:
        n = draw.integers(work.shortest, work.longest + 1)
        row[: n + 2] = [
            START,
            *draw.integers(END + 1, work.vocabulary, n),
            END,
        ]
    return ids


def crossentropy_arrays(work: CrossentropyWork) -> dict:
    """Draw the output layer's inputs and kernel, and ids of real words."""
    draw = np.random.default_rng(0)
    words = work.batch, work.steps
    outputs = draw.standard_normal((*words, work.size))
    return {
        "outputs": outputs.astype("float32"),
        "kernel": _normal(draw, work.size, work.vocabulary),
        "ids": draw.integers(1, work.vocabulary, words).astype("int32"),
    }
