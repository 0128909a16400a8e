"""Can a dictionary be learned from its answers? Yes, if its lookup is soft.

A Python dictionary needs the exact key; for all other keys, it raises a
`KeyError`. Attention is a soft lookup: it compares the query with every key,
and returns the mean of all values, weighted by how well their keys match.
Therefore, a query may be noisy, and answers have gradients:

    python examples/soft_dictionary.py

The keys are eight random vectors, and the values are colors. First, the example
looks up noisy keys. The sharpness is a factor of the scores: with 0, each
answer is the mean of all colors; with infinity, it is the color of the nearest
key. Then the example learns the values, or the keys, together with the
sharpness, from questions and answers alone. The picture needs the extra
`plots`.
"""

import argparse
import time
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
import numpy as np
from keras import ops

from keras_attention import DotAttention
from keras_attention.extras import require

PICTURE = "soft_dictionary.png"
COLOURS = {
    "red": (0.89, 0.10, 0.11),
    "orange": (1.00, 0.50, 0.05),
    "yellow": (1.00, 0.87, 0.20),
    "green": (0.20, 0.63, 0.17),
    "cyan": (0.20, 0.80, 0.84),
    "blue": (0.12, 0.35, 0.80),
    "violet": (0.56, 0.27, 0.68),
    "pink": (0.98, 0.60, 0.74),
}
FEATURES, NOISE = 16, 0.4  # of a key; standard deviation of each feature
BEST = 1 / NOISE**2  # see `SoftDictionary`
EPOCHS = 20
SHARPNESS = [0.0, 1.0, 3.0, 10.0, 30.0, 100.0]


class SoftDictionary(keras.layers.Layer):
    """Looks up queries in keys and values that can be learned.

    Formula:

        answer(q) = sum_j softmax_j(g q . k_j) v_j

    Let all keys `k_j` have the same norm, and let a query be one of them plus
    Gaussian noise of standard deviation `s`. With `g = 1 / s^2` the weights are
    the posterior probabilities that it was key `j`. No answer has a smaller
    mean squared error, so training should find this sharpness.

    Args:
        keys: `(N, D)`.
        values: `(N, Dv)`.
        learn: Which of `"keys"` and `"values"` are trained. The sharpness `g`,
            which starts at 1, always is.
        **kwargs: Keras layer arguments.
    """

    def __init__(self, keys, values, learn: tuple[str, ...] = (), **kwargs):
        super().__init__(**kwargs)
        self.keys = keras.Variable(keys, trainable="keys" in learn)
        self.values = keras.Variable(values, trainable="values" in learn)
        self.attention = DotAttention(scale="learned")

    def call(self, queries):
        # All queries share one memory, so they are a sequence, not a batch.
        answers = self.attention(
            ops.expand_dims(queries, 0),
            ops.expand_dims(self.values, 0),
            ops.expand_dims(self.keys, 0),
        )
        return ops.squeeze(answers, 0)  # (B, Dv)

    def sharpness(self) -> float:
        """Return `g`."""
        (g,) = self.attention.weights
        return float(ops.convert_to_numpy(g))


def unit_vectors(count: int, seed: int) -> np.ndarray:
    """Draw random keys of norm 1: `(count, FEATURES)`."""
    keys = np.random.default_rng(seed).normal(size=(count, FEATURES))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    return keys.astype("float32")


def noisy(
    keys: np.ndarray, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw noisy keys `(count, D)`, and the index of each one's key."""
    draw = np.random.default_rng(seed)
    which = draw.integers(len(keys), size=count)
    noise = draw.normal(0, NOISE, (count, FEATURES))
    return keys[which] + noise.astype("float32"), which


def look_up(queries, keys, values, sharpness: float):
    """Look up with a fixed sharpness: answers `(B, Dv)`, weights `(B, N)`."""
    answers, weights = DotAttention()(
        sharpness * queries[None],
        values[None],
        keys[None],
        return_attention_scores=True,
    )
    return ops.convert_to_numpy(answers)[0], ops.convert_to_numpy(weights)[0]


def look_up_hard(queries, keys, values):
    """Return the value of the nearest key."""
    return values[np.argmax(queries @ keys.T, axis=1)]


def rms(x: np.ndarray) -> float:
    """Compute the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(x))))


def learn(
    dictionary: SoftDictionary, keys, values, epochs: int, seed: int
) -> list[np.ndarray]:
    """Train a dictionary on noisy keys and their values.

    Args:
        dictionary: The dictionary.
        keys: The true keys, `(N, D)`.
        values: The true values, `(N, Dv)`.
        epochs: Number of epochs.
        seed: Seed of the questions.

    Returns:
        The values of the dictionary, before and after every epoch.
    """
    queries, which = noisy(keys, 4096, seed)
    history = []

    def keep(*_):
        history.append(ops.convert_to_numpy(dictionary.values).copy())

    model = keras.Sequential([dictionary])
    model.compile(keras.optimizers.Adam(0.03), loss="mse")
    model.fit(
        queries,
        values[which],
        batch_size=64,
        epochs=epochs,
        verbose=0,
        callbacks=[
            keras.callbacks.LambdaCallback(
                on_train_begin=keep, on_epoch_end=keep
            )
        ],
    )
    return history


def error(questions, keys, values, sharpness: float) -> float:
    """Compute the RMSE of the answers to noisy keys."""
    queries, which = questions
    answers, _ = look_up(queries, keys, values, sharpness)
    return rms(answers - values[which])


def compare(questions, keys, values):
    """Print the error by sharpness, and check the gradient of an answer."""
    queries, which = questions
    print("sharpness  error of answers  weight of the right key")
    for sharpness in sorted([*SHARPNESS, BEST]):
        answers, weights = look_up(queries, keys, values, sharpness)
        wrong = rms(answers - values[which])
        right = weights[np.arange(len(which)), which].mean()
        print(f"{sharpness:9.2f} {wrong:17.3f} {right:24.2f}")
    hard = look_up_hard(queries, keys, values) - values[which]
    print(f"  nearest {rms(hard):17.3f}")
    before, weights = look_up(queries, keys, values, BEST)
    raised = values + np.eye(len(keys), 1, dtype="float32")  # the first by 1
    after, _ = look_up(queries, keys, raised, BEST)
    apart = np.abs(after - before - weights[:, :1]).max()
    print(
        f"If the value of {next(iter(COLOURS))} grows by 1, each answer grows "
        f"by its weight of that key, up to {apart:.0e}"
    )


def draw(keys, values, learned, questions, file: Path):
    """Draw answers and errors by sharpness, and the colours learned.

    Args:
        keys: The keys, `(N, D)`.
        values: Their colours, `(N, 3)`.
        learned: The colours, before and after every epoch.
        questions: Noisy keys, and the index of each one's key.
        file: Where to write the picture.
    """
    figure = require("matplotlib.figure", "plots", "soft_dictionary.py")
    page = figure.Figure((12, 4), dpi=120, layout="constrained")
    left, middle, right = page.subplots(1, 3)
    queries, which = questions
    one_each = [np.flatnonzero(which == j)[0] for j in range(len(keys))]
    columns = {
        f"{g:g}": look_up(queries[one_each], keys, values, g)[0]
        for g in SHARPNESS
    }
    swatches(left, {**columns, "stored": values})
    left.set(title="Answers to one noisy key each", xlabel="sharpness g")
    grid = np.geomspace(0.1, 300, 50)
    wrong = [error(questions, keys, values, g) for g in grid]
    middle.semilogx(grid, wrong, color="tab:red")
    middle.axvline(BEST, color="0.5", ls="--", label="1 / noise variance")
    middle.set(title="A little doubt answers best", xlabel="sharpness g")
    middle.set(ylabel="error of answers (RMSE)", ylim=(0, None))
    middle.legend(frameon=False)
    epochs = [epoch for epoch in (0, 1, 2, 4, 8, 20) if epoch < len(learned)]
    columns = {str(epoch): learned[epoch] for epoch in epochs}
    swatches(right, {**columns, "stored": values})
    right.set(title="Colours learned from answers", xlabel="epoch")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(file)


def swatches(ax, columns: dict[str, np.ndarray]):
    """Draw colours: a row for each name, a column for each entry."""
    ax.imshow(np.stack(list(columns.values()), axis=1).clip(0, 1))
    ax.set_xticks(range(len(columns)), list(columns))
    ax.set_yticks(range(len(COLOURS)), list(COLOURS))
    ax.set_xticks(np.arange(0.5, len(columns)), minor=True)
    ax.set_yticks(np.arange(0.5, len(COLOURS)), minor=True)
    ax.grid(which="minor", color="white", linewidth=4)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def main(
    quick: bool = False, output: str | Path = "outputs", seed: int = 0
) -> dict[str, SoftDictionary]:
    """Look up noisy keys; then learn the colours, and the keys.

    Args:
        quick: Whether to take half the epochs.
        output: Folder of the picture.
        seed: Seed of all random numbers.

    Returns:
        The dictionaries that learned `"values"` and `"keys"`.
    """
    began = time.perf_counter()
    require("matplotlib.figure", "plots", "soft_dictionary.py")
    keras.utils.set_random_seed(seed)
    values = np.array(list(COLOURS.values()), "float32")
    keys = unit_vectors(len(values), seed)
    questions = noisy(keys, 4000, seed + 1)
    compare(questions, keys, values)

    grey = np.full_like(values, 0.5)
    colours = SoftDictionary(keys, grey, learn=("values",))
    epochs = EPOCHS // 2 if quick else EPOCHS
    history = learn(colours, keys, values, epochs, seed + 2)
    apart = rms(history[-1] - values)
    print(f"Colours learned: RMSE {rms(grey - values):.3f} before, ", end="")
    print(f"{apart:.3f} after; sharpness {colours.sharpness():.2f}")

    names = SoftDictionary(0.1 * unit_vectors(8, seed + 3), values, ("keys",))
    learn(names, keys, values, epochs, seed + 2)
    found = look_up_hard(keys, ops.convert_to_numpy(names.keys), values)
    right = int(np.all(found == values, axis=1).sum())
    print(f"Keys learned: {right} of {len(keys)} keys give their colour")
    picture = Path(output) / PICTURE
    draw(keys, values, history, questions, picture)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    return {"values": colours, "keys": names}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
