"""What was attention before neural networks? A weighted mean of neighbors.

In 1964, Nadaraya and Watson fitted a curve to noisy points: the value at x is
the mean of all measured values, weighted by the distance between x and the
position of the measurement. This is attention: x is the query, the positions
are the keys, and the measured values are the values.

    python examples/kernel_regression.py

The only parameter is the bandwidth of the kernel. Gradient descent learns it:
the layer predicts every point from all other points, and `attention_mask` hides
the point itself. A second training without the mask shows why the mask is
needed. The picture needs the extra `plots`.
"""

import argparse
import time
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
import numpy as np

from keras_attention import KernelAttention
from keras_attention.extras import require

PICTURE = "kernel_regression.png"
POINTS, END, NOISE = 80, 10.0, 0.3
STEPS = 200
NARROW, WIDE = 0.05, 2.0
FIXED = [NARROW, 0.2, 0.8, WIDE]


def curve(x: np.ndarray) -> np.ndarray:
    """Compute the true values, without noise."""
    return np.sin(x) + x / 5


def measure(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw places and noisy values at them: two arrays `(POINTS,)`."""
    draw = np.random.default_rng(seed)
    x = np.sort(draw.uniform(0, END, POINTS))
    return x, curve(x) + draw.normal(0, NOISE, POINTS)


def nadaraya_watson(query, x, y, bandwidth: float):
    """Predict by the formula of 1964, in NumPy: answers and weights."""
    kernel = np.exp(-((query[:, None] - x) ** 2) / (2 * bandwidth**2))
    weights = kernel / kernel.sum(axis=1, keepdims=True)
    return weights @ y, weights


def regress(layer, query, x, y, visible=None):
    """Predict by attention: answers `(Tq,)` and weights `(Tq, Tv)`."""
    query, key, value = (as_batch(a) for a in (query, x, y))
    context, weights = layer(
        query,
        value,
        key,
        attention_mask=visible,
        return_attention_scores=True,
    )
    context, weights = map(keras.ops.convert_to_numpy, (context, weights))
    return context[0, :, 0], weights[0]


def as_batch(numbers: np.ndarray) -> np.ndarray:
    """Make a batch of one sequence of single numbers: `(1, T, 1)`."""
    return numbers.astype("float32")[None, :, None]


def all_but_itself(count: int) -> np.ndarray:
    """Make a mask that hides each point from itself: `(count, count)`."""
    return ~np.eye(count, dtype=bool)


def learn(x, y, visible, steps: int) -> KernelAttention:
    """Learn the bandwidth: predict each point from those it can see.

    Args:
        x: Where the values were measured.
        y: The values.
        visible: Which point can see which, boolean `(POINTS, POINTS)`.
        steps: Number of steps. All points are one batch, so an epoch would be
            one step; they are repeated instead, which takes less time.
    """
    layer = KernelAttention(bandwidth=1.0)
    place, value = keras.Input((None, 1)), keras.Input((None, 1))
    mask = keras.Input((None, None), dtype="bool")
    model = keras.Model(
        [place, value, mask], layer(place, value, place, attention_mask=mask)
    )
    model.compile(keras.optimizers.Adam(0.05), loss="mse")
    inputs = [as_batch(x), as_batch(y), visible[None]]
    *inputs, wanted = (np.repeat(a, steps, 0) for a in (*inputs, as_batch(y)))
    model.fit(inputs, wanted, batch_size=1, verbose=0)
    return layer


def bandwidth_of(layer: KernelAttention) -> float:
    """Return the bandwidth of a layer."""
    return float(np.exp(keras.ops.convert_to_numpy(layer.log_bandwidth)))


def errors(layer: KernelAttention, x, y) -> tuple[float, float]:
    """Compute the RMSE at points left out, and that to the true curve."""
    left_out, _ = regress(layer, x, x, y, all_but_itself(len(x)))
    grid = np.linspace(0, END, 401)
    answers, _ = regress(layer, grid, x, y)
    return rms(left_out - y), rms(answers - curve(grid))


def rms(x: np.ndarray) -> float:
    """Compute the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(x))))


def draw(layers: dict[str, KernelAttention], x, y, file: Path):
    """Draw the fit of each layer, and its weights below.

    Args:
        layers: The layers by their titles, one for each column.
        x: Where the values were measured.
        y: The values.
        file: Where to write the picture.
    """
    figure = require("matplotlib.figure", "plots", "kernel_regression.py")
    grid = np.linspace(0, END, 401)
    page = figure.Figure((11, 6.4), dpi=120, layout="constrained")
    axes = page.subplots(2, len(layers), sharex="row", sharey="row")
    for column, (title, layer) in zip(axes.T, layers.items(), strict=True):
        answers, weights = regress(layer, grid, x, y)
        top, below = column
        top.set_title(f"{title}: h = {bandwidth_of(layer):.2f}")
        top.plot(x, y, ".", color="0.6", label="measured")
        top.plot(grid, curve(grid), "--", color="0.3", label="truth")
        top.plot(grid, answers, color="tab:red", label="attention")
        image = below.imshow(
            weights,
            cmap="gray",
            vmin=0,
            vmax=0.3,
            aspect="auto",
            origin="lower",
            extent=(0.5, len(x) + 0.5, 0, END),
        )
        below.set_xlabel("measured point (key), from left to right")
    axes[0, 0].set_ylabel("value")
    axes[1, 0].set_ylabel("position (query)")
    axes[0, 0].legend(frameon=False)
    page.colorbar(image, ax=axes[1].tolist(), label="weight", extend="max")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(file)


def compare(layers: dict[str, KernelAttention], x, y):
    """Print each layer's errors, and its difference from the formula."""
    print("bandwidth                     h  left out  to the truth")
    for name, layer in layers.items():
        left_out, apart = errors(layer, x, y)
        h = bandwidth_of(layer)
        print(f"{name:24} {h:6.3f} {left_out:9.3f} {apart:13.3f}")
    layer = layers["learned"]
    answers, _ = regress(layer, x, x, y)
    formula, _ = nadaraya_watson(x, x, y, bandwidth_of(layer))
    apart = np.abs(answers - formula).max()
    print(f"Largest difference from the formula in NumPy: {apart:.0e}")


def main(
    quick: bool = False, output: str | Path = "outputs", seed: int = 0
) -> dict[str, KernelAttention]:
    """Learn the bandwidth, compare it with fixed ones, and draw.

    Args:
        quick: Whether to take half the steps.
        output: Folder of the picture.
        seed: Seed of all random numbers.

    Returns:
        The layers that were compared, by name.
    """
    began = time.perf_counter()
    require("matplotlib.figure", "plots", "kernel_regression.py")
    x, y = measure(seed)
    others = all_but_itself(POINTS)
    layers = {f"fixed {h}": KernelAttention(bandwidth=h) for h in FIXED}
    steps = STEPS // 2 if quick else STEPS
    layers["learned"] = learn(x, y, others, steps)
    layers["learned, itself seen"] = learn(x, y, others | True, steps)
    compare(layers, x, y)
    shown = {
        "Too narrow": layers[f"fixed {NARROW}"],
        "Learned": layers["learned"],
        "Too wide": layers[f"fixed {WIDE}"],
    }
    picture = Path(output) / PICTURE
    draw(shown, x, y, picture)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    return layers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
