"""Can attention forecast two years of CO2, and does it beat a classic?

The model is trained on monthly CO2 above Mauna Loa from 1958 to 1987. From
every quarter of the later years, it forecasts the quantiles 0.1, 0.5 and 0.9 of
the next 24 months:

    python examples/forecast.py

An encoder reads the last five years, and a decoder attends to them. In training
and in inference, `FreeRunningDecoder` feeds each forecast of the decoder back
as its next input. The example compares the model with a forecast that repeats
the last year, and with the ETS model of statsmodels, which is made for such
series. `helpers/co2.py` contains the data and these other forecasts. At the
end, the example exports the model to an ONNX file, which runs without Keras. It
needs the extras `forecast`, `onnx` and `plots`.
"""

import argparse
import time
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
import numpy as np
from helpers.co2 import QUANTILES
from helpers.co2 import YEAR
from helpers.co2 import exponential_smoothing
from helpers.co2 import monthly
from helpers.co2 import scores
from helpers.co2 import tilted
from helpers.co2 import windows
from helpers.co2 import with_quantiles
from keras import ops

import keras_attention
from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import FreeRunningDecoder
from keras_attention import RecurrentEncoder
from keras_attention import StateBridge
from keras_attention.extras import require

PICTURE, MODEL, FILE = "forecast.png", "forecast.keras", "forecast.onnx"
PAST, STEPS = 5 * YEAR, 2 * YEAR
SPLIT = np.datetime64("1988-01")  # the first month that no training has seen
EVERY = 3  # months between two origins
UNIT = 4.0  # ppm, so that what the layers see is about 1
BATCH_SIZE = 64


@keras.saving.register_keras_serializable(package="examples")
class Quantiles(keras.layers.Layer):
    """Turns outputs of a decoder into three quantiles in ascending order.

    Shapes:
        output `(B, size)` -> quantiles `(B, 3)`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(3)

    def build(self, output_shape):
        self.dense.build(output_shape)

    def call(self, output):
        middle, below, above = ops.split(self.dense(output), 3, axis=-1)
        low, high = middle - ops.softplus(below), middle + ops.softplus(above)
        return ops.concatenate([low, middle, high], axis=-1)

    def compute_output_shape(self, output_shape):
        return (*output_shape[:-1], 3)


@keras.saving.register_keras_serializable(package="examples")
def pinball_loss(truth, quantiles):
    """Average the pinball loss of values `(B, T)` and quantiles `(B, T, 3)`.

    Its minimum is at the quantiles of the distribution: for the share q, an
    error costs q if the truth is above, and 1 - q if it is below.
    """
    above = ops.expand_dims(truth, -1) - quantiles
    shares = ops.convert_to_tensor(QUANTILES, quantiles.dtype)
    return ops.mean(ops.maximum(shares * above, (shares - 1) * above))


def make_model(units: int) -> keras.Model:
    """Make a model from months `(B, PAST)` to quantiles and weights.

    It reads and writes ppm, so that the file of the model needs nothing else.
    The last known month is its zero.
    """
    past = keras.Input((PAST,), name="past")
    level = past[:, -1:]
    known = (past - level) / UNIT  # (B, PAST)
    sequence = ops.expand_dims(known, -1)
    encoded, *states = RecurrentEncoder(units, cell="gru")(sequence)
    memory = ops.concatenate([encoded, sequence], axis=-1)
    cell = AttentionDecoderCell(
        keras.layers.GRUCell(2 * units), BahdanauAttention(units)
    )
    run = FreeRunningDecoder(
        AttentionDecoder(cell),
        Quantiles(),
        STEPS,
        return_attention_scores=True,
    )
    first = ops.repeat(known[:, -1:], 3, axis=1)  # as if it were a forecast
    quantiles, weights = run(first, memory, StateBridge()(states))
    quantiles = ops.expand_dims(level, -1) + UNIT * quantiles
    return keras.Model(past, {"quantiles": quantiles, "weights": weights})


def train(
    values: np.ndarray, units: int, copies: int, epochs: int, seed: int
) -> keras.Model:
    """Fit a model to all windows of a series, each in several copies."""
    origins = np.arange(PAST, len(values) - STEPS + 1)
    before, after = tilted(*windows(values, origins, PAST, STEPS), copies, seed)
    model = make_model(units)
    steps = epochs * -(-len(before) // BATCH_SIZE)
    rate = keras.optimizers.schedules.CosineDecay(0.003, steps)
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=1.0),
        loss={"quantiles": pinball_loss},
    )
    model.fit(before, after, BATCH_SIZE, epochs, verbose=2)
    return model


def forecast(
    model: keras.Model, values: np.ndarray, origins: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Forecast from some origins: quantiles `(B, STEPS, 3)` and weights."""
    before, _ = windows(values, origins, PAST, 0)
    found = model.predict(before, verbose=0)
    return found["quantiles"], found["weights"]


def export(model: keras.Model, before: np.ndarray, file: Path):
    """Export a model, run the file, and print how far it is from the model.

    Args:
        model: The model.
        before: The months before some origins, `(B, PAST)`.
        file: Where to write it, `*.onnx`.
    """
    keras_attention.export_model(model, file, sample=before)
    session = require("onnxruntime", "onnx", "forecast.py").InferenceSession(
        file
    )
    given = {"past": before.astype("float32")}
    (found,) = session.run(["quantiles"], given)
    apart = np.abs(found - model.predict(before, verbose=0)["quantiles"]).max()
    print(f"Largest difference in onnxruntime: {apart:.0e} ppm")
    print(f"File: {file}, {file.stat().st_size / 1000:.0f} kB")


def report(found: dict[str, np.ndarray], truth: np.ndarray, scale: float):
    """Print the scores of each forecast, and which one is best."""
    table = {name: scores(each, truth, scale) for name, each in found.items()}
    columns = list(next(iter(table.values())))
    print(f"{'ppm':24}" + "".join(f"{name:>12}" for name in columns))
    for name, row in table.items():
        *errors, inside = row.values()
        cells = "".join(f"{error:12.3f}" for error in errors)
        print(f"{name:24}{cells}{inside:12.0%}")
    best = min(table, key=lambda name: table[name]["pinball"])
    print(f"Smallest pinball loss: {best}")


def draw(
    months: np.ndarray,
    values: np.ndarray,
    origin: int,
    found: dict[str, np.ndarray],
    weights: np.ndarray,
    file: Path,
):
    """Draw one forecast, and what each of its months attended to.

    Args:
        months: The months of the series `(N,)`.
        values: Its values `(N,)`.
        origin: Number of months known.
        found: Quantiles `(STEPS, 3)` of each model, by name.
        weights: Attention `(STEPS, PAST)` of the model.
        file: Where to write the picture.
    """
    figure = require("matplotlib.figure", "plots", "forecast.py")
    page = figure.Figure((10.5, 7), dpi=120, layout="constrained")
    top, below = page.subplots(2, 1, height_ratios=[1.3, 1])
    shown = slice(origin - PAST, origin + STEPS)
    ahead = months[origin : origin + STEPS]
    top.plot(months[shown], values[shown], ".", color="0.3", label="measured")
    for (name, each), color in zip(
        found.items(), ("tab:blue", "tab:red"), strict=True
    ):
        top.plot(ahead, each[:, 1], color=color, label=name)
        top.fill_between(
            ahead, each[:, 0], each[:, 2], color=color, alpha=0.2, lw=0
        )
    top.set_ylabel("CO2, ppm")
    top.legend(frameon=False, loc="upper left")
    image = below.imshow(weights, cmap="gray", aspect="auto", vmin=0)
    ticks = np.arange(0, PAST, 6)
    below.set_xticks(ticks, months[origin - PAST + ticks], rotation=45)
    ticks = np.arange(0, STEPS, 6)
    below.set_yticks(ticks, ahead[ticks])
    below.set_xlabel("month attended to")
    below.set_ylabel("month forecast")
    page.colorbar(image, ax=below, label="weight")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(file)


def main(
    quick: bool = False, output: str | Path = "outputs", seed: int = 0
) -> dict[str, np.ndarray]:
    """Train, forecast from many origins, compare, and draw.

    Args:
        quick: Whether to train for seconds only, to try the code.
        output: Folder of the picture, the model and the file.
        seed: Seed of all random numbers.

    Returns:
        The quantiles `(B, STEPS, 3)` of each forecast, by name.
    """
    began = time.perf_counter()
    require("matplotlib.figure", "plots", "forecast.py")
    keras.utils.set_random_seed(seed)
    months, values = monthly()
    trained = int(np.searchsorted(months, SPLIT))
    origins = np.arange(trained, len(values) - STEPS + 1, EVERY)
    origins = origins[-3:] if quick else origins
    model = train(
        values[:trained], *((4, 1, 1) if quick else (32, 8, 20)), seed
    )
    ours, weights = forecast(model, values, origins)
    others = values, trained, origins, STEPS
    found = {
        "last season": with_quantiles(*others),
        "last season and growth": with_quantiles(*others, grow=True),
        "ETS": exponential_smoothing(*others),
        "attention": ours,
    }
    season = np.abs(values[YEAR:trained] - values[: trained - YEAR]).mean()
    report(found, windows(values, origins, 0, STEPS)[1], season)
    picture, file = Path(output) / PICTURE, Path(output) / MODEL
    shown = {name: found[name][-1] for name in ("ETS", "attention")}
    draw(months, values, origins[-1], shown, weights[-1], picture)
    model.save(file)
    again, _ = forecast(keras.models.load_model(file), values, origins)
    apart = np.abs(again - ours).max()
    print(f"Largest difference after loading: {apart:.0e} ppm")
    export(model, windows(values, origins[:4], PAST, 0)[0], Path(output) / FILE)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Model: {file}")
    print(f"Picture: {picture}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
