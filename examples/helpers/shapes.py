"""Scenes of two coloured shapes, and their captions.

A large shape and a small shape are on a gray background. The caption names the
large shape first, and its place relative to the small shape: "a red circle left
of a blue square". If the horizontal distance is larger than the vertical
distance, the caption says left or right; otherwise it says above or below.
Scenes with nearly equal distances are left out, so that every scene has one
caption.

46 of the 576 captions are held out, with all their scenes. A checksum of the
text decides which captions are held out. Therefore, training set and test set
have no caption in common, whatever the random seed is.
"""

import zlib
from typing import NamedTuple

import numpy as np

SIZE = 48  # pixels, width and height
COLORS = {
    "red": (0.85, 0.15, 0.15),
    "green": (0.15, 0.65, 0.2),
    "blue": (0.2, 0.35, 0.9),
    "yellow": (0.95, 0.85, 0.2),
}
CORNERS = {"circle": 0, "triangle": 3, "square": 4}
GROUND, NOISE = 0.5, 0.03
LARGE, SMALL = (8.5, 10.5), (5.0, 6.5)  # radii, in pixels
APART = 2.0  # pixels between two shapes, at least
DECIDED = 6.0  # pixels by which one offset exceeds the other, at least
WORDS = ["a", "of", "left", "right", "above", "below", *COLORS, *CORNERS]
LONGEST = 9  # tokens: "a red circle left of a blue square", and the end


class Thing(NamedTuple):
    """One shape of a scene.

    Attributes:
        color: One of `COLORS`.
        shape: One of `CORNERS`.
        x: Position of its centre, in pixels from the left.
        y: Position of its centre, in pixels from the top.
        radius: From the centre to the rim or to the corners, in pixels.
    """

    color: str
    shape: str
    x: float
    y: float
    radius: float


def draw(things: list[Thing], random: np.random.Generator) -> np.ndarray:
    """Draw things on a noisy ground: floats `(SIZE, SIZE, 3)` from 0 to 1."""
    image = np.full((SIZE, SIZE, 3), GROUND)
    rows, columns = np.mgrid[:SIZE, :SIZE] + 0.5
    for thing in things:
        x, y = columns - thing.x, rows - thing.y
        outside = _distance(x, y, CORNERS[thing.shape], thing.radius)
        cover = np.clip(0.5 - outside, 0, 1)[..., None]  # smooth at the rim
        image += cover * (np.array(COLORS[thing.color]) - image)
    image += random.normal(0, NOISE, image.shape)
    return np.clip(image, 0, 1).astype("float32")


def _distance(x, y, corners, radius):
    """Compute the distance of points from a shape; negative inside."""
    if not corners:
        return np.hypot(x, y) - radius
    # Normals of the sides; that of a triangle's first side points down.
    angles = np.pi * (0.5 + 2 * np.arange(corners) / corners)
    sides = [np.cos(a) * x + np.sin(a) * y for a in angles]
    return np.max(sides, axis=0) - radius * np.cos(np.pi / corners)


def caption(large: Thing, small: Thing) -> str:
    """Return the caption of a scene."""
    x, y = large.x - small.x, large.y - small.y
    if abs(x) > abs(y):
        place = "left of" if x < 0 else "right of"
    else:
        place = "above" if y < 0 else "below"
    return (
        f"a {large.color} {large.shape} {place} a {small.color} {small.shape}"
    )


def is_held_out(text: str) -> bool:
    """Whether a caption, with all its scenes, is in the test set."""
    return zlib.crc32(text.encode()) % 10 == 0


def make_scenes(
    count: int, held_out: bool, seed: int
) -> tuple[np.ndarray, list[str]]:
    """Draw random scenes.

    Args:
        count: Number of scenes.
        held_out: Whether to draw scenes of held-out captions, or of others.
        seed: Seed of the scenes.

    Returns:
        Images `(count, SIZE, SIZE, 3)`, and their captions.
    """
    random = np.random.default_rng(seed)
    images, captions = [], []
    while len(images) < count:
        things = [_thing(random, LARGE), _thing(random, SMALL)]
        text = caption(*things)
        if _is_clear(*things) and is_held_out(text) == held_out:
            images.append(draw(things, random))
            captions.append(text)
    return np.stack(images), captions


def _thing(random, radii):
    radius = random.uniform(*radii)
    x, y = random.uniform(radius, SIZE - radius, 2)
    color = random.choice(list(COLORS))
    return Thing(color, random.choice(list(CORNERS)), x, y, radius)


def _is_clear(large, small):
    """Whether two things are apart, and one offset decides."""
    x, y = abs(large.x - small.x), abs(large.y - small.y)
    apart = np.hypot(x, y) > large.radius + small.radius + APART
    return apart and abs(x - y) > DECIDED
