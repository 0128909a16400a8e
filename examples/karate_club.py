"""Whom does a member follow when a club splits? Ask whom they listen to.

A karate club of 34 members split in two in 1972: one half stayed with the
instructor, the other with the administrator. Zachary had written down who met
whom outside the club. Two layers of graph attention see these friendships,
and the sides of those two men; they tell the side of the 32 others:

    python examples/karate_club.py

Members have no features, only names: what they are told comes through their
friends. GAT and its correction, GATv2, are trained from several seeds each,
and compared with the plain mean over friends. It needs the extra `plots`.

Data: Zachary, 1977, [An information flow model for conflict and fission in
small groups](https://doi.org/10.1086/jar.33.4.3629752), figures 1 to 3.
"""

import argparse
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from keras_attention import GraphAttention
from keras_attention.extras import require

PICTURE = Path(__file__).parents[1] / "docs" / "karate_club.png"
SEEDS, STEPS = 8, 50
INSTRUCTOR, ADMINISTRATOR, MEMBERS = 0, 33, 34
FRIENDS = {  # of each member, those with a larger number
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}
WITH_INSTRUCTOR = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21)


def friendships() -> np.ndarray:
    """Tell who met whom: boolean `(34, 34)`, symmetric."""
    adjacency = np.zeros((MEMBERS, MEMBERS), bool)
    for member, friends in FRIENDS.items():
        adjacency[member, friends] = True
    return adjacency | adjacency.T


def sides() -> np.ndarray:
    """Tell who went with whom: `(34,)`, 0 instructor, 1 administrator."""
    found = np.ones(MEMBERS, int)
    found[list(WITH_INSTRUCTOR)] = 0
    return found


class Reading(NamedTuple):
    """What a trained model says.

    Attributes:
        probability: That a member goes with the administrator, `(34,)`.
        weights: Whom each listens to in the last layer, `(34, 34)`.
    """

    probability: np.ndarray
    weights: np.ndarray


def make_model(version: int) -> keras.Model:
    """Make two layers of graph attention, to two logits and the weights."""
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
    """Learn from the two men whose side is known, and read off the others.

    Args:
        version: 1 for GAT, 2 for GATv2.
        seed: Which weights to begin with.
    """
    keras.utils.set_random_seed(seed)
    both = make_model(version)
    model = keras.Model(both.inputs, both.outputs[0])
    model.compile(
        keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    # The club is one batch, so an epoch would be one step, and slow to begin.
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
    """Guess without learning: each is the mean of the friends, `(34,)`.

    Repeated until nothing changes, with the two men held at 0 and 1: label
    propagation.
    """
    mean = friendships() / friendships().sum(axis=1, keepdims=True)
    probability = np.full(MEMBERS, 0.5)
    for _ in range(500):
        probability = mean @ probability
        probability[[INSTRUCTOR, ADMINISTRATOR]] = 0.0, 1.0
    return probability


def wrong(probability) -> list[int]:
    """List the members whose side is not told, out of the 32."""
    missed = np.flatnonzero((probability > 0.5) != sides())
    return [int(m) for m in missed if m not in (INSTRUCTOR, ADMINISTRATOR)]


def ranked_alike(weights) -> float:
    """Tell how often two members put two friends of both in one order."""
    adjacency, alike = friendships(), []
    for one, other in combinations(range(MEMBERS), 2):
        shared = np.flatnonzero(adjacency[one] & adjacency[other])
        for a, b in combinations(shared, 2):
            first = weights[one, a] > weights[one, b]
            alike.append(first == (weights[other, a] > weights[other, b]))
    return float(np.mean(alike))


def layout(adjacency) -> np.ndarray:
    """Place the nodes so that distances are steps in the graph: `(N, 2)`.

    Classical scaling, then stress majorization, which counts short distances
    most: [Gansner et al., 2004](https://doi.org/10.1007/978-3-540-31843-9_25).
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


def laplacian(weights) -> np.ndarray:
    """Take the Laplacian of a weighted graph: `(N, N)`."""
    return np.diag(weights.sum(axis=1)) - weights


def draw(readings, file: Path):
    """Draw the club as each version sees it.

    Args:
        readings: Of each version, by name.
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
        "Colour: whom the model follows. Half of a line: how much the member "
        "at its end listens to the other.\nBlack ring: the model is wrong. "
        "Squares: the instructor (0) and the administrator (33)."
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    page.savefig(file)


def draw_members(ax, places, reading):
    """Draw nodes with their numbers, and a ring where the side is wrong."""
    leaders = np.isin(np.arange(MEMBERS), (INSTRUCTOR, ADMINISTRATOR))
    rings = np.isin(np.arange(MEMBERS), wrong(reading.probability))
    for marker, chosen in (("o", ~leaders), ("s", leaders)):
        ax.scatter(
            *places[chosen].T,
            s=260,
            c=reading.probability[chosen],
            vmin=-0.3,  # no darker than a number can be read on
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


def main(quick=False, picture=None, seed=0) -> dict[str, list[Reading]]:
    """Train both versions from several seeds, compare them, and draw.

    Args:
        quick: Whether to train from three seeds, and to draw only where
            `picture` says.
        picture: Where to draw. Defaults to `docs/karate_club.png`.
        seed: The first seed.

    Returns:
        What the models of each version say, by name.
    """
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
    if picture or not quick:
        file = Path(picture or PICTURE)
        draw({name: found[0] for name, found in readings.items()}, file)
        print(f"Drawn in {file}")
    return readings


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
