"""What was attention before neural networks? A weighted mean of neighbours.

Nadaraya and Watson drew a curve through noisy points in 1964: the value at a
place is the mean of all that was measured, weighted by how near it was
measured. That is attention: the place is the query, the measured places are
the keys, what was measured there are the values.

    python examples/kernel_regression.py

All there is to learn is how near is near, the bandwidth. It is learned by
gradient descent: every point is told from the others, its own value hidden by
`attention_mask`. Once more without the mask it shows what that is for. It
needs the extra `plots`.
"""

import argparse
from pathlib import Path

import keras
import numpy as np

from keras_attention import KernelAttention
from keras_attention.extras import require

PICTURE = Path(__file__).parents[1] / "docs" / "kernel_regression.png"
POINTS, END, NOISE = 80, 10.0, 0.3
STEPS = 200
NARROW, WIDE = 0.05, 2.0
FIXED = [NARROW, 0.2, 0.8, WIDE]


def curve(x):
    """Give the truth, which the noise hides."""
    return np.sin(x) + x / 5


def measure(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw places, and what is measured there: two arrays `(POINTS,)`."""
    draw = np.random.default_rng(seed)
    x = np.sort(draw.uniform(0, END, POINTS))
    return x, curve(x) + draw.normal(0, NOISE, POINTS)


def nadaraya_watson(query, x, y, bandwidth: float):
    """Regress by the formula of 1964, in NumPy: answers and weights."""
    kernel = np.exp(-((query[:, None] - x) ** 2) / (2 * bandwidth**2))
    weights = kernel / kernel.sum(axis=1, keepdims=True)
    return weights @ y, weights


def regress(layer, query, x, y, visible=None):
    """Regress by attention: answers `(Tq,)` and weights `(Tq, Tv)`."""
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


def as_batch(numbers):
    """Make a batch of one sequence of single numbers: `(1, T, 1)`."""
    return numbers.astype("float32")[None, :, None]


def all_but_itself(count: int) -> np.ndarray:
    """Let every point see all the others: boolean `(count, count)`."""
    return ~np.eye(count, dtype=bool)


def learn(x, y, visible, steps: int) -> KernelAttention:
    """Learn the bandwidth from the points, each told by those it sees.

    Args:
        x: Where it was measured.
        y: What was measured.
        visible: Which point sees which, boolean `(POINTS, POINTS)`.
        steps: How many to take. All points are one batch, so an epoch would
            be one step; they are repeated instead, which takes less time.
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


def bandwidth_of(layer) -> float:
    """Read off how near is near."""
    return float(np.exp(keras.ops.convert_to_numpy(layer.log_bandwidth)))


def errors(layer, x, y) -> tuple[float, float]:
    """Measure a layer: RMSE at points left out, and to the true curve."""
    left_out, _ = regress(layer, x, x, y, all_but_itself(len(x)))
    grid = np.linspace(0, END, 401)
    answers, _ = regress(layer, grid, x, y)
    return rms(left_out - y), rms(answers - curve(grid))


def rms(x) -> float:
    """Take the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(x))))


def draw(layers, x, y, file: Path):
    """Draw each layer's fit, and its weights below.

    Args:
        layers: Titles and layers, a column each.
        x: Where it was measured.
        y: What was measured.
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
        below.set_xlabel("point measured (key), from left to right")
    axes[0, 0].set_ylabel("value")
    axes[1, 0].set_ylabel("place asked for (query)")
    axes[0, 0].legend(frameon=False)
    page.colorbar(image, ax=axes[1].tolist(), label="weight", extend="max")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(file)


def compare(layers, x, y):
    """Print how good each layer is, and that it is the formula of 1964."""
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


def main(quick=False, picture=None, seed=0) -> dict[str, KernelAttention]:
    """Learn the bandwidth, compare it with fixed ones, and draw.

    Args:
        quick: Whether to draw only where `picture` says.
        picture: Where to draw. Defaults to `docs/kernel_regression.png`.
        seed: Which points to draw.

    Returns:
        The layers that were compared, by name.
    """
    x, y = measure(seed)
    others = all_but_itself(POINTS)
    layers = {f"fixed {h}": KernelAttention(bandwidth=h) for h in FIXED}
    layers["learned"] = learn(x, y, others, STEPS)
    layers["learned, itself seen"] = learn(x, y, others | True, STEPS)
    compare(layers, x, y)
    if picture or not quick:
        shown = {
            "Too narrow": layers[f"fixed {NARROW}"],
            "Learned": layers["learned"],
            "Too wide": layers[f"fixed {WIDE}"],
        }
        file = Path(picture or PICTURE)
        draw(shown, x, y, file)
        print(f"Drawn in {file}")
    return layers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
