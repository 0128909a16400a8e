"""Multi30k: how to get its files, and a made-up corpus of the same form.

29,000 captions for training, 1,014 for validation and 1,000 in
`test_2016_flickr`, in English, German and French: [Elliott et al.,
2016](https://arxiv.org/abs/1605.00459).
"""

import gzip
import random
import tempfile
from pathlib import Path

import keras

ORIGIN = (
    "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
)
SHA256 = {
    "test_2016_flickr.de.gz": (
        "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"
    ),
    "test_2016_flickr.en.gz": (
        "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"
    ),
    "test_2016_flickr.fr.gz": (
        "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90"
    ),
    "train.de.gz": (
        "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"
    ),
    "train.en.gz": (
        "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"
    ),
    "train.fr.gz": (
        "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c"
    ),
    "val.de.gz": (
        "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"
    ),
    "val.en.gz": (
        "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"
    ),
    "val.fr.gz": (
        "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9"
    ),
}
PARTS = ("train", "val", "test_2016_flickr")


def download(folder: Path, languages: list[str]):
    """Download the files of Multi30k that are missing; check every file."""
    for part in PARTS:
        for language in languages:
            name = f"{part}.{language}.gz"
            keras.utils.get_file(
                name,
                origin=f"{ORIGIN}/{name}",
                file_hash=SHA256[name],
                cache_dir=folder.resolve(),
                cache_subdir="",
            )


def find(folder: Path, part: str, language: str) -> Path:
    """Find one file, plain or gzip."""
    plain = folder / f"{part}.{language}"
    packed = folder / f"{part}.{language}.gz"
    if plain.exists():
        return plain
    if packed.exists():
        return packed
    raise SystemExit(
        f"There is neither {plain} nor {packed}. Pass the folder of the data "
        "with --data, or add --download to download Multi30k."
    )


def made_up_corpus(source: str, target: str) -> Path:
    """Write a corpus whose targets are the sources with the words reversed."""
    folder = Path(tempfile.mkdtemp())
    draw = random.Random(0)
    for part, count in zip(PARTS, (32, 8, 6), strict=True):
        lines = [draw.choices("abcdefgh", k=5) for _ in range(count)]
        for language, turn in ((source, 1), (target, -1)):
            text = "".join(" ".join(line[::turn]) + "\n" for line in lines)
            with gzip.open(folder / f"{part}.{language}.gz", "wt") as file:
                file.write(text)
    return folder
