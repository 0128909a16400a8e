"""Rows of English nouns in French, for `long_sentences.py`.

Some nouns have an adjective, which stands before the noun in English and after
the noun in French. Some test sentences are longer than all training sentences.
"""

import random
from pathlib import Path

from helpers.multi30k import PARTS

NOUNS = {
    "cat": "chat",
    "dog": "chien",
    "tree": "arbre",
    "book": "livre",
    "boat": "bateau",
    "bird": "oiseau",
    "bread": "pain",
    "garden": "jardin",
    "horse": "cheval",
    "train": "train",
}
ADJECTIVES = {
    "red": "rouge",
    "black": "noir",
    "white": "blanc",
    "green": "vert",
    "yellow": "jaune",
    "sad": "triste",
    "light": "léger",
    "slow": "lent",
    "warm": "chaud",
    "calm": "calme",
}
SHORTEST, TRAINED, LONGEST = 4, 18, 27  # words of generated sentences


def write_corpus(folder: Path, counts: tuple[int, ...], seed: int) -> Path:
    """Write generated sentences to files named like those of Multi30k.

    Args:
        folder: Folder of the files.
        counts: Number of sentences for training, validation and test.
        seed: Seed of the sentences.

    Returns:
        The folder.
    """
    draw = random.Random(seed)
    for part, count in zip(PARTS, counts, strict=True):
        longest = LONGEST if part == PARTS[-1] else TRAINED
        lengths = [draw.randint(SHORTEST, longest) for _ in range(count)]
        pairs = [make_pair(length, draw) for length in lengths]
        for side, language in enumerate(("en", "fr")):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{part}.{language}").write_text(text)
    return folder


def make_pair(length: int, draw: random.Random) -> tuple[str, str]:
    """Make a sentence of `length` words, and its translation."""
    source, target = [], []
    while len(source) < length:
        noun = draw.choice(list(NOUNS))
        words = [noun]
        if len(source) + 1 < length and draw.random() < 0.5:
            words = [draw.choice(list(ADJECTIVES)), noun]
        source += words
        target += [{**NOUNS, **ADJECTIVES}[word] for word in reversed(words)]
    return " ".join(source), " ".join(target)
