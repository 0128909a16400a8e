"""Can a dictionary be learned by asking it? If its lookup is soft, it can.

A Python dictionary answers one key exactly, and any other with `KeyError`.
Attention is the same lookup made soft: the query is compared with every key,
and the answer is the mean of all values, weighted by how well their keys fit.
So a key may be noisy, and answers have gradients:

    python examples/soft_dictionary.py

Eight names are stored as vectors, with their colours as values. First they
are looked up by noisy vectors, with a sharpness from 0 (the mean of all
colours) to infinity (the nearest key). Then colours, keys and the sharpness
are forgotten and learned back, from questions and answers alone. It needs the
extra `plots`.
"""

import argparse
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_attention import DotAttention
from keras_attention.extras import require

PICTURE = Path(__file__).parents[1] / "docs" / "soft_dictionary.png"
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
FEATURES, NOISE = 16, 0.4  # of a key; each feature's standard deviation
BEST = 1 / NOISE**2  # see `SoftDictionary`
EPOCHS = 20
SHARPNESS = [0.0, 1.0, 3.0, 10.0, 30.0, 100.0]


class SoftDictionary(keras.layers.Layer):
    """Looks queries up in keys and values, some of which it may learn.

    Formula:

        answer(q) = sum_j softmax_j(g q . k_j) v_j

    If all keys `k_j` have one length, and a query is one of them with Gaussian
    noise of standard deviation `s`, the weights with `g = 1 / s^2` are the
    probabilities that it was key `j`, by Bayes' rule. No answer has a smaller
    mean squared error, so this is the sharpness that training should find.

    Args:
        keys: `(N, D)`.
        values: `(N, Dv)`.
        learn: Which of `"keys"` and `"values"` training may change. The
            sharpness `g`, from 1, it always may.
        **kwargs: Keras layer arguments.
    """

    def __init__(self, keys, values, learn: tuple[str, ...] = (), **kwargs):
        super().__init__(**kwargs)
        self.keys = keras.Variable(keys, trainable="keys" in learn)
        self.values = keras.Variable(values, trainable="values" in learn)
        self.attention = DotAttention(scale="learned")

    def call(self, queries):
        # All queries ask one memory, so they are a sequence, not a batch.
        answers = self.attention(
            ops.expand_dims(queries, 0),
            ops.expand_dims(self.values, 0),
            ops.expand_dims(self.keys, 0),
        )
        return ops.squeeze(answers, 0)  # (B, Dv)

    def sharpness(self) -> float:
        """Read off `g`."""
        return float(ops.convert_to_numpy(self.attention.factor))


def unit_vectors(count: int, seed: int) -> np.ndarray:
    """Draw keys: `count` directions at random."""
    keys = np.random.default_rng(seed).normal(size=(count, FEATURES))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    return keys.astype("float32")


def noisy(keys, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw queries `(count, D)`, and which key each of them was."""
    draw = np.random.default_rng(seed)
    which = draw.integers(len(keys), size=count)
    noise = draw.normal(0, NOISE, (count, FEATURES))
    return keys[which] + noise.astype("float32"), which


def look_up(queries, keys, values, sharpness: float):
    """Ask with a fixed sharpness: answers `(B, Dv)` and weights `(B, N)`."""
    answers, weights = DotAttention()(
        sharpness * queries[None],
        values[None],
        keys[None],
        return_attention_scores=True,
    )
    return ops.convert_to_numpy(answers)[0], ops.convert_to_numpy(weights)[0]


def look_up_hard(queries, keys, values):
    """Ask for the value of the key that fits best."""
    return values[np.argmax(queries @ keys.T, axis=1)]


def rms(x) -> float:
    """Take the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(x))))


def learn(dictionary, keys, values, epochs: int, seed: int) -> list:
    """Learn from questions, noisy keys, and their answers.

    Args:
        dictionary: What learns.
        keys: Those that are asked for, `(N, D)`.
        values: Their answers, `(N, Dv)`.
        epochs: How often all questions are asked.
        seed: Which noise to draw.

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
    """Measure the answers to noisy keys with a fixed sharpness: RMSE."""
    queries, which = questions
    answers, _ = look_up(queries, keys, values, sharpness)
    return rms(answers - values[which])


def compare(questions, keys, values):
    """Print what sharpness does to answers, and what their slope is."""
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
        f"With the colour of {next(iter(COLOURS))} raised by 1, each answer "
        f"rises by its weight of that key, up to {apart:.0e}"
    )


def draw(keys, values, learned, questions, file: Path):
    """Draw answers by sharpness, how wrong they are, and colours learned.

    Args:
        keys: What is stored.
        values: Its colours.
        learned: The colours, before and after every epoch.
        questions: Noisy keys, and which they are.
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


def swatches(ax, columns):
    """Draw colours: a row for each name, with columns as they are called."""
    ax.imshow(np.stack(list(columns.values()), axis=1).clip(0, 1))
    ax.set_xticks(range(len(columns)), list(columns))
    ax.set_yticks(range(len(COLOURS)), list(COLOURS))
    ax.set_xticks(np.arange(0.5, len(columns)), minor=True)
    ax.set_yticks(np.arange(0.5, len(COLOURS)), minor=True)
    ax.grid(which="minor", color="white", linewidth=4)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def main(quick=False, picture=None, seed=0) -> dict[str, SoftDictionary]:
    """Look names up by noisy keys; then learn colours, and keys.

    Args:
        quick: Whether to draw only where `picture` says.
        picture: Where to draw. Defaults to `docs/soft_dictionary.png`.
        seed: Which keys and noise to draw.

    Returns:
        The dictionaries that learned `"values"` and `"keys"`.
    """
    keras.utils.set_random_seed(seed)
    values = np.array(list(COLOURS.values()), "float32")
    keys = unit_vectors(len(values), seed)
    questions = noisy(keys, 4000, seed + 1)
    compare(questions, keys, values)

    grey = np.full_like(values, 0.5)
    colours = SoftDictionary(keys, grey, learn=("values",))
    history = learn(colours, keys, values, EPOCHS, seed + 2)
    apart = rms(history[-1] - values)
    print(f"Colours learned: {rms(grey - values):.3f} wrong before, ", end="")
    print(f"{apart:.3f} after; sharpness {colours.sharpness():.2f}")

    names = SoftDictionary(0.1 * unit_vectors(8, seed + 3), values, ("keys",))
    learn(names, keys, values, EPOCHS, seed + 2)
    found = look_up_hard(keys, ops.convert_to_numpy(names.keys), values)
    right = int(np.all(found == values, axis=1).sum())
    print(f"Keys learned: {right} of {len(keys)} names give their colour")
    if picture or not quick:
        file = Path(picture or PICTURE)
        draw(keys, values, history, questions, file)
        print(f"Drawn in {file}")
    return {"values": colours, "keys": names}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
