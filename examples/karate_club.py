"""Which side does each member of a club take? Graph attention predicts it.

A karate club of 34 members split in two in 1972: one half stayed with the
instructor, the other half with the administrator. Zachary had recorded who met
whom outside the club. Two layers of graph attention read these friendships and
the sides of the two leaders, and predict the sides of the other 32 members:

    python examples/karate_club.py

Members have no features except their identity, so that all information comes
from their friends. The example trains GAT and its successor, GATv2, with
several random seeds, and compares them with the mean over all friends without
attention. It needs the extra `plots`.
"""

import argparse
import time
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import helpers.quiet  # noqa: F401

# isort: split
import keras
import numpy as np
from helpers.club import ADMINISTRATOR
from helpers.club import INSTRUCTOR
from helpers.club import MEMBERS
from helpers.club import friendships
from helpers.club import sides

from keras_attention import GraphAttention
from keras_attention.extras import require

PICTURE = "karate_club.png"
SEEDS, STEPS = 8, 50


class Reading(NamedTuple):
    """The predictions of a trained model.

    Attributes:
        probability: Of each member to side with the administrator, `(34,)`.
        weights: Attention of each member to each other one in the last layer,
            `(34, 34)`.
    """

    probability: np.ndarray
    weights: np.ndarray


def make_model(version: int) -> keras.Model:
    """Make two layers of graph attention that return logits and weights."""
    names = keras.Input((MEMBERS, MEMBERS))
    friends = keras.Input((MEMBERS, MEMBERS), dtype="bool")
    hidden = GraphAttention(8, heads=8, version=version, add_self_loops=True)(
        names, friends
    )
    logits, weights = GraphAttention(
        2, version=version, add_self_loops=True, name="last"
    )(keras.activations.elu(hidden), friends, return_attention_scores=True)
    return keras.Model([names, friends], [logits, weights])


def train(version: int, seed: int) -> Reading:
    """Train on the two leaders' sides, and predict those of the others.

    Args:
        version: 1 for GAT, 2 for GATv2.
        seed: Seed of the initial weights.
    """
    keras.utils.set_random_seed(seed)
    both = make_model(version)
    model = keras.Model(both.inputs, both.outputs[0])
    model.compile(
        keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    # The club is one batch. It is repeated, so that one epoch has all steps.
    known = np.isin(np.arange(MEMBERS), (INSTRUCTOR, ADMINISTRATOR))
    club = [np.eye(MEMBERS)[None], friendships()[None]]
    *inputs, wanted, counts = (
        np.repeat(a, STEPS, axis=0)
        for a in (*club, sides()[None], known[None].astype(float))
    )
    model.fit(inputs, wanted, 1, sample_weight=counts, verbose=0)
    logits, weights = map(keras.ops.convert_to_numpy, both(club))
    odds = logits[0, :, 1] - logits[0, :, 0]
    return Reading(1 / (1 + np.exp(-odds)), weights[0, 0])


def spread() -> np.ndarray:
    """Propagate the labels: each member is the mean of the friends, `(34,)`.

    This is repeated until nothing changes, with the two leaders fixed at 0
    and 1. Nothing is learned.
    """
    mean = friendships() / friendships().sum(axis=1, keepdims=True)
    probability = np.full(MEMBERS, 0.5)
    for _ in range(500):
        probability = mean @ probability
        probability[[INSTRUCTOR, ADMINISTRATOR]] = 0.0, 1.0
    return probability


def wrong(probability: np.ndarray) -> list[int]:
    """List the members, out of the 32, whose side is predicted wrong."""
    missed = np.flatnonzero((probability > 0.5) != sides())
    return [int(m) for m in missed if m not in (INSTRUCTOR, ADMINISTRATOR)]


def ranked_alike(weights: np.ndarray) -> float:
    """Compute how often two members rank two shared friends alike."""
    adjacency, alike = friendships(), []
    for one, other in combinations(range(MEMBERS), 2):
        shared = np.flatnonzero(adjacency[one] & adjacency[other])
        for a, b in combinations(shared, 2):
            first = weights[one, a] > weights[one, b]
            alike.append(first == (weights[other, a] > weights[other, b]))
    return float(np.mean(alike))


def layout(adjacency: np.ndarray) -> np.ndarray:
    """Place nodes in the plane, by their distance in the graph: `(N, 2)`.

    Classical scaling gives the start. Stress majorization, which weights short
    distances most, improves it: [Gansner et al.,
    2004](https://doi.org/10.1007/978-3-540-31843-9_25).
    """
    count = len(adjacency)
    steps = np.where(adjacency, 1.0, np.inf)
    np.fill_diagonal(steps, 0.0)
    for node in range(count):  # Floyd and Warshall
        steps = np.minimum(steps, steps[:, [node]] + steps[node])
    centred = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-centred @ steps**2 @ centred / 2)
    places = vectors[:, -2:] * np.sqrt(values[-2:])
    counts = 1 / np.where(steps, steps, np.inf) ** 2
    inverse = np.linalg.pinv(laplacian(counts))
    for _ in range(200):
        apart = np.linalg.norm(places[:, None] - places, axis=2)
        pull = counts * steps / np.maximum(apart, 1e-6)
        places = inverse @ laplacian(pull) @ places
    return places


def laplacian(weights: np.ndarray) -> np.ndarray:
    """Compute the Laplacian of a weighted graph: `(N, N)`."""
    return np.diag(weights.sum(axis=1)) - weights


def draw(readings: dict[str, Reading], file: Path):
    """Draw the predictions of each version.

    Args:
        readings: One `Reading` of each version, by name.
        file: Where to write the picture.
    """
    figure = require("matplotlib.figure", "plots", "karate_club.py")
    page = figure.Figure((10.5, 7.4), dpi=120, layout="constrained")
    axes = page.subplots(1, len(readings))
    places = layout(friendships())
    for ax, (name, reading) in zip(axes, readings.items(), strict=True):
        ax.set_title(f"{name}: {32 - len(wrong(reading.probability))} of 32")
        for listener, friend in np.argwhere(friendships()):
            middle = (places[listener] + places[friend]) / 2
            half = np.stack([places[listener], middle], axis=1)
            width = 8 * reading.weights[listener, friend]
            ax.plot(*half, color="0.6", linewidth=0.5 + width, zorder=1)
        draw_members(ax, places, reading)
    page.supxlabel(
        "Colour: the side that the model predicts. Half of a line: the weight "
        "that the member at its end gives to the other.\nBlack ring: the "
        "model is wrong. Squares: the instructor (0), the administrator (33)."
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(file)


def draw_members(ax, places: np.ndarray, reading: Reading):
    """Draw nodes with their numbers, and a ring where the side is wrong."""
    leaders = np.isin(np.arange(MEMBERS), (INSTRUCTOR, ADMINISTRATOR))
    rings = np.isin(np.arange(MEMBERS), wrong(reading.probability))
    for marker, chosen in (("o", ~leaders), ("s", leaders)):
        ax.scatter(
            *places[chosen].T,
            s=260,
            c=reading.probability[chosen],
            vmin=-0.3,  # so that a number can be read on every colour
            vmax=1.3,
            cmap="coolwarm",
            marker=marker,
            edgecolors=np.where(rings, "black", "white")[chosen],
            linewidths=2,
            zorder=2,
        )
    for member, place in enumerate(places):
        ax.annotate(member, place, ha="center", va="center", fontsize=8)
    ax.set_aspect("equal")
    ax.set_axis_off()


def main(
    quick: bool = False, output: str | Path = "outputs", seed: int = 0
) -> dict[str, list[Reading]]:
    """Train both versions from several seeds, compare them, and draw.

    Args:
        quick: Whether to train from three seeds only.
        output: Folder of the picture.
        seed: The first seed.

    Returns:
        The predictions of the models of each version, by name.
    """
    began = time.perf_counter()
    require("matplotlib.figure", "plots", "karate_club.py")
    seeds = range(seed, seed + (3 if quick else SEEDS))
    readings = {
        name: [train(version, each) for each in seeds]
        for name, version in (("GAT", 1), ("GATv2", 2))
    }
    print("                 right of 32   shared friends ranked alike")
    for name, found in readings.items():
        right = np.mean([32 - len(wrong(r.probability)) for r in found])
        alike = np.mean([ranked_alike(r.weights) for r in found])
        print(f"{name:16} {right:11.1f} {alike:22.0%}")
        print("  wrong:", *(wrong(r.probability) for r in found))
    print(f"{'mean of friends':16} {32 - len(wrong(spread())):11.1f}")
    print("  wrong:", wrong(spread()))
    picture = Path(output) / PICTURE
    draw({name: found[0] for name, found in readings.items()}, picture)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    return readings


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
