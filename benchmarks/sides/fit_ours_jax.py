"""`fit` of our encoder-decoder on JAX, on batches of one length."""

import keras
import numpy as np
from sides.fit_data import fitting
from sides.fit_model import build
from sides.fit_model import options
from sides.serve import serve
from works import FitWork


def feed(batches: list) -> dict:
    """Concatenate batches of one shape to arguments of `fit`."""
    pairs, told = zip(*batches, strict=True)
    sources, known = zip(*pairs, strict=True)
    sources, known, told = map(np.concatenate, (sources, known, told))
    return {
        "x": [sources, known],
        "y": told,
        "batch_size": len(batches[0][1]),
        "shuffle": False,
    }


def make(work: dict, arrays: dict, mode: str):
    """Make the model; return functions that fit it over all batches."""
    model = build(FitWork(**work), arrays)
    return fitting(model, keras.optimizers, arrays, feed, **options(mode))


if __name__ == "__main__":
    serve(make)
