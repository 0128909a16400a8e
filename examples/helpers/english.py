"""Words of English and their sounds, for `pronounce_english.py`.

The [CMU Pronouncing Dictionary](https://github.com/cmusphinx/cmudict), under a
BSD licence. A word may have several pronunciations, the usual pronunciation
first. All of them are in the same part of the data (training, validation, or
test set), which the SHA-256 of the letters determines.
"""

import gzip
import hashlib
import itertools
from pathlib import Path

import keras

Words = dict[str, list[str]]  # all pronunciations of each word

ORIGIN = "https://raw.githubusercontent.com/cmusphinx/cmudict/master/"
FILE = "cmudict.dict"
TEST, DEV = 0.095, 0.115  # hashes below are of `test`; below, of `dev`
SOUNDS = {"th": "TH", "sh": "SH", "a": "AE1", "i": "IH0", "qu": "K W"}


def find(folder: Path, download: bool = False) -> Path:
    """Find the dictionary in a folder, plain or gzip, or fetch it."""
    for file in (folder / FILE, folder / f"{FILE}.gz"):
        if file.exists():
            return file
    if not download:
        raise SystemExit(
            f"There is no {folder / FILE}. Pass the folder of the dictionary "
            "with --data, or add --download to download it."
        )
    folder.mkdir(parents=True, exist_ok=True)  # or Keras takes another
    found = keras.utils.get_file(
        FILE, ORIGIN + FILE, cache_dir=folder.resolve(), cache_subdir=""
    )
    return Path(found)


def read(file: Path) -> Words:
    """Read the dictionary.

    A line is `word SOUND SOUND`; another pronunciation has a number behind the
    word, as in `word(2)`, and comments begin with a `#`.
    """
    open_text, words = gzip.open if file.suffix == ".gz" else open, {}
    with open_text(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            word, *sounds = line.partition("#")[0].split()
            known = words.setdefault(word.partition("(")[0], [])
            known.append(" ".join(sounds))
    return words


def split(words: Words) -> dict[str, Words]:
    """Return the words of `"train"`, `"dev"` and `"test"`."""
    parts = {name: {} for name in ("train", "dev", "test")}
    for word, sounds in words.items():
        digest = hashlib.sha256(word.encode()).digest()
        place = int.from_bytes(digest[:4]) / 2**32
        part = "test" if place < TEST else "dev" if place < DEV else "train"
        parts[part][word] = sounds
    return parts


def write(words: Words, file: Path, most: int | None = None) -> Path:
    """Write a table of words and sounds, for a training.

    Args:
        words: The words.
        file: The table.
        most: Pronunciations of a word, at most. Defaults to `None`, all.

    Returns:
        The file.
    """
    lines = (
        f"{word}\t{one}\n"
        for word, sounds in words.items()
        for one in itertools.islice(sounds, most)
    )
    file.write_text("".join(lines), encoding="utf-8")
    return file


def make_up(folder: Path):
    """Write a dictionary of made-up words, whose letters say their sounds."""
    lines = []
    for letters in itertools.product(["", *"bdgk"], SOUNDS, "lmn", SOUNDS):
        sounds = " ".join(SOUNDS.get(x, x.upper()) for x in letters if x)
        lines.append(f"{''.join(letters)} {sounds}  # made up\n")
    lines.insert(1, lines[0].replace(" ", "(2) Z ", 1))
    (folder / FILE).write_text("".join(lines), encoding="utf-8")
