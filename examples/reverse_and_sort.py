"""Which attention learns to copy, to reverse, and to sort?

A model reads letters, and writes them in the same order, in reverse order, or
in alphabetical order:

    python examples/reverse_and_sort.py

The example needs no data and no network, only the extra `plots`. It trains
every score (with softmax) and every alignment (with Bahdanau's score) on each
task, for the same 200 batches. The encoder is only an embedding of each letter
and of its position, so that the decoder must find each letter by attention. The
table shows for each task:

- right: the share of new sentences that are completely right, with teacher
  forcing. Greedy search would generate these sentences, too.
- looks: the share of letters whose source position had the largest weight when
  they were written.

Attention that only moves to the right can copy, but cannot reverse. Attention
that does not read the letters cannot find the next letter of the alphabet. Some
of these mechanisms sort nevertheless: they attend to all letters at once, and
the state of the decoder stores the letters.
"""

import argparse
import inspect
import time
from pathlib import Path
from typing import NamedTuple

import helpers.quiet  # noqa: F401

# isort: split
import keras
import numpy as np
from helpers.letters import LENGTH
from helpers.letters import TASKS
from helpers.letters import VOCABULARY_SIZE
from helpers.letters import Task
from helpers.letters import make_sentences
from helpers.letters import make_task
from keras import layers
from keras import ops

import keras_attention
from keras_attention import AbstractAlignment
from keras_attention import AbstractAttention
from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import ChunkwiseAttention
from keras_attention import CosineAttention
from keras_attention import DotAttention
from keras_attention import ForwardAlignment
from keras_attention import GaussianMixtureAttention
from keras_attention import KernelAttention
from keras_attention import LocalMonotonic
from keras_attention import LocalPredictive
from keras_attention import LocationAttention
from keras_attention import LocationAwareAttention
from keras_attention import LuongGeneral
from keras_attention import Monotonic
from keras_attention import MultiHead
from keras_attention import SequenceCrossentropy
from keras_attention.extras import require

PICTURE = "reverse_and_sort.png"
BATCH_SIZE, TESTED = 64, 500
UNITS, RATE = 32, 0.01
QUICK = {"GaussianMixture", "LocalPredictive"}  # the two of a quick run
LEARNED = 0.9  # share of right sentences from which a task is learned


def scores(units: int) -> dict[str, layers.Layer]:
    """Make an attention layer of every score, with softmax."""
    made = {  # those that need more than `units`, or come twice
        "Chunkwise": ChunkwiseAttention(
            BahdanauAttention(units, normalize=True, alignment=Monotonic()),
            BahdanauAttention(units),
            chunk_size=3,
        ),
        "Cosine": CosineAttention(beta=4.0),
        "DotSqrt": DotAttention(scale="sqrt"),
        "GaussianMixture": GaussianMixtureAttention(3),
        "Kernel": KernelAttention(bandwidth=4.0),
        "Location": LocationAttention(max_length=LENGTH),
        "LocationAware": LocationAwareAttention(units, 8, 3),
        "LuongGeneralSqrt": LuongGeneral(use_scale="sqrt"),
        "MultiHead": MultiHead(BahdanauAttention(units // 2), num_heads=2),
    }
    for name, kind in public_kinds(AbstractAttention, "Attention").items():
        if name not in made:
            sized = "units" in inspect.signature(kind).parameters
            made[name] = kind(units) if sized else kind()
    return dict(sorted(made.items()))


def alignments(units: int) -> dict[str, layers.Layer]:
    """Make a layer of every other alignment, with Bahdanau's score."""
    made = {  # those that need an argument, or come twice
        "LocalMonotonic": LocalMonotonic(1),
        "LocalPredictive": LocalPredictive(2),
        "Stepwise": Monotonic(stepwise=True),
        "Transition": ForwardAlignment(transition_agent=True),
        "entmax15": "entmax15",
        "sparsemax": "sparsemax",
    }
    for name, kind in public_kinds(AbstractAlignment, "Alignment").items():
        if name not in made:
            made[name] = kind()
    return {
        name: BahdanauAttention(units, alignment=made[name])
        for name in sorted(made)
    }


def public_kinds(base: type, suffix: str) -> dict[str, type]:
    """Return the public classes that are made of a base, by short names."""
    public = {
        name.removesuffix(suffix): getattr(keras_attention, name)
        for name in keras_attention.__all__
        if not name.startswith("Abstract")
    }
    return {
        name: kind
        for name, kind in public.items()
        if inspect.isclass(kind) and issubclass(kind, base)
    }


def spread() -> keras.initializers.Initializer:
    """Make an initializer of variance 1; one for each layer."""
    return keras.initializers.RandomNormal(stddev=1.0)


class WithPlaces(layers.Layer):
    """Adds a learned vector to each position.

    Shapes:
        letters `(B, T, D)` -> `(B, T, D)`.
    """

    def build(self, shape):
        self.places = self.add_weight(
            name="places", shape=shape[1:], initializer=spread()
        )

    def call(self, letters):
        return letters + self.places


def make_models(attention) -> tuple[keras.Model, keras.Model]:
    """Make the model to train, and one of the same layers with weights too."""
    source = keras.Input((LENGTH,), dtype="int32")
    target = keras.Input((LENGTH,), dtype="int32")

    def embed(ids):
        return layers.Embedding(VOCABULARY_SIZE, UNITS, spread())(ids)

    cell = AttentionDecoderCell(
        layers.GRUCell(UNITS), attention, order="luong", input_feeding=False
    )
    outputs, weights = AttentionDecoder(cell, return_attention_scores=True)(
        embed(target), WithPlaces()(embed(source))
    )
    logits = layers.Dense(VOCABULARY_SIZE)(outputs)
    inputs = [source, target]
    return keras.Model(inputs, logits), keras.Model(inputs, [logits, weights])


class Result(NamedTuple):
    """How well one mechanism does one task.

    Attributes:
        right: Share of the sentences without a mistake.
        looks: Share of the letters that had the largest weight.
        weights: Attention of every sentence, `(N, LENGTH, LENGTH)`.
        seconds: Duration of the training.
    """

    right: float
    looks: float
    weights: np.ndarray
    seconds: float


def study(
    attention, trained: np.ndarray, tested: np.ndarray
) -> dict[str, Result]:
    """Train one mechanism on each task, from the same initial weights.

    Args:
        attention: The attention layer.
        trained: Sentences to learn from, `(N, LENGTH)`.
        tested: Sentences to test with, likewise.

    Returns:
        The result of each task, by name. One compiled model learns them all.
    """
    model, looking = make_models(attention)
    model.compile(
        keras.optimizers.Adam(RATE, global_clipnorm=1.0),
        loss=SequenceCrossentropy(),
        jit_compile=False,  # compilation would take longer than training
    )
    model.optimizer.build(model.trainable_variables)
    variables = [*model.variables, *model.optimizer.variables]
    start = [ops.convert_to_numpy(x) for x in variables]
    results = {}
    for name in TASKS:
        for variable, value in zip(variables, start, strict=True):
            variable.assign(value)
        task = make_task(name, trained)
        pairs = [task.source, task.target[:, :-1]], task.target[:, 1:]
        began = time.perf_counter()
        model.fit(*pairs, BATCH_SIZE, verbose=0)
        seconds = time.perf_counter() - began
        results[name] = test(looking, make_task(name, tested), seconds)
    return results


def test(looking: keras.Model, task: Task, seconds: float) -> Result:
    """Measure how often a model is right, and how often it looks right."""
    found = looking([task.source, task.target[:, :-1]])
    logits, weights = map(ops.convert_to_numpy, found)
    right = logits.argmax(axis=-1) == task.target[:, 1:]
    looks = weights.argmax(axis=-1) == task.places
    return Result(right.all(axis=1).mean(), looks.mean(), weights, seconds)


def report(results: dict[str, dict[str, Result]], steps: int):
    """Print the table, and which mechanisms learned which task."""
    print(f"{'':17}" + "".join(f"{task:>15}" for task in TASKS))
    print(f"{'':17}" + 3 * f"{'right':>8}{'looks':>7}" + f"{'ms/step':>9}")
    for name, row in results.items():
        shares = [f"{x.right:8.0%}{x.looks:7.0%}" for x in row.values()]
        fastest = min(x.seconds for x in row.values())  # without compilation
        print(f"{name:17}{''.join(shares)}{1000 * fastest / steps:9.1f}")
    for task in TASKS:
        learned = {n: row[task] for n, row in results.items()}
        learned = {n: x for n, x in learned.items() if x.right >= LEARNED}
        blind = [n for n, x in learned.items() if x.looks < 0.5]
        print(f"{task}: learned by {', '.join(learned) or 'none'}")
        if blind:
            print(f"  without attending to each letter: {', '.join(blind)}")


def draw(blocks: list[dict], titles: list[str], file: Path):
    """Draw the weights of one sentence: a row a mechanism, a column a task.

    Args:
        blocks: Results to draw side by side.
        titles: Title of each block.
        file: Where to write the picture.
    """
    plt = require("matplotlib.pyplot", "plots", "reverse_and_sort.py")
    rows = max(map(len, blocks))
    figure = plt.figure(figsize=(8, 0.95 * rows), layout="constrained")
    sides = figure.subfigures(1, len(blocks))
    for side, block, title in zip(sides, blocks, titles, strict=True):
        side.suptitle(title)
        axes = side.subplots(rows, len(TASKS), squeeze=False)
        for ax in axes[len(block) :].flat:
            ax.set(frame_on=False, xticks=[], yticks=[])
            ax.set_xlabel(" ", fontsize=8, labelpad=1)  # for equal heights
        for ax, task in zip(axes[0], TASKS, strict=True):
            ax.set_title(task, fontsize=9)
        for line, (name, row) in zip(axes, block.items(), strict=False):
            line[0].set_ylabel(name, rotation=0, ha="right", va="center")
            for ax, result in zip(line, row.values(), strict=True):
                _draw_one(ax, result)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def _draw_one(ax, result):
    ax.imshow(result.weights[0], cmap="gray", vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel(f"{result.right:.0%}", fontsize=8, labelpad=1)
    for spine in ax.spines.values():
        spine.set_color("tab:green" if result.right >= LEARNED else "0.7")
        spine.set_linewidth(2)


def main(
    quick: bool = False, output: str | Path = "outputs", seed: int = 0
) -> dict[str, dict[str, Result]]:
    """Train every mechanism on every task; print a table and draw it.

    Args:
        quick: Whether to train two mechanisms for seconds only, to try the
            code.
        output: Folder of the picture.
        seed: Seed of all random numbers.

    Returns:
        The result of each task, by the names of mechanism and task.
    """
    began = time.perf_counter()
    require("matplotlib.pyplot", "plots", "reverse_and_sort.py")
    steps = 30 if quick else 200
    rows = make_sentences(TESTED + steps * BATCH_SIZE, seed)
    tested, trained = rows[:TESTED], rows[TESTED:]
    blocks = [scores(UNITS), alignments(UNITS)]
    if quick:
        blocks = [{x: b[x] for x in b if x in QUICK} for b in blocks]
    for block in blocks:
        for name, attention in block.items():
            keras.utils.set_random_seed(seed)
            block[name] = study(attention, trained, tested)
            print(".", end="", flush=True)
    results = {name: row for block in blocks for name, row in block.items()}
    print(f" {TESTED} test sentences, after {steps} batches of {BATCH_SIZE}")
    report(results, steps)
    picture = Path(output) / PICTURE
    titles = ["Scores, with softmax", "Alignments, with Bahdanau's score"]
    draw(blocks, titles, picture)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
