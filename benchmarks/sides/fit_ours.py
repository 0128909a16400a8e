"""`fit` of our encoder-decoder on TensorFlow."""

import keras
from sides.fit_data import fitting
from sides.fit_model import build
from sides.fit_model import options
from sides.fit_tensorflow import feed
from sides.serve import serve
from works import FitWork


def make(work: dict, arrays: dict, mode: str):
    """Make the model; return functions that fit it over all batches."""
    model = build(FitWork(**work), arrays)
    return fitting(model, keras.optimizers, arrays, feed, **options(mode))


if __name__ == "__main__":
    serve(make)
