"""Words of fifteen languages and their sounds, for `pronounce.py`.

The data is that of task 1 of SIGMORPHON 2020, from Wiktionary ([Gorman et al.,
2020](https://aclanthology.org/2020.sigmorphon-1.2/)). Each language has 3,600
words for training, 450 for validation, and 450 for the test. `BASELINE` is from
the results in this paper.
"""

import hashlib
import random
from pathlib import Path

import keras

ORIGIN = "https://raw.githubusercontent.com/sigmorphon/2020/master/task1/data"
PARTS = ("train", "dev", "test")
SHA256 = {  # of the three files of a language, one after the other
    "ady": "bdcb34d28606c81805bfcf1b1915b4472ddc0755ea8f0f1a08a7f00d41191efc",
    "arm": "28cac900b098dbefa43dfdca0eb53f0b475183a3091f03e3d1a3e9bd92ac45a5",
    "bul": "d2ef8acf57d1b2237afc81776a8396fe2e78315ca3cb75b6d10d44f6453edc6d",
    "dut": "b1865ec8036cc20493578208ae1750c00be6dbe47f917f1fbb42058d84b8f619",
    "fre": "6f5cf499abc4f974f6c6dc0a1ff63e555162d6bbe8ac3640d3f2c7f8a02a0989",
    "geo": "e479beb4108a101f97fbc7de74824e657527ef9ed9e6df579992fa3369aef5ff",
    "gre": "40e7e18bd913d1dd87d6f86f308a558e7e9dc7432c01aa6d0980f4bb80d4d3c8",
    "hin": "259ceb158b1ed3b0818d20a052ce37bf1fd35ddd9bbe1f10a04dbc6dd8ad762b",
    "hun": "fab83061796200585adf7bf239e5601b3ce1722941a2688a3c2387f05be3dd34",
    "ice": "e66db86d45228cc1e8198bf65ee8a013a153a2c7f5359a640a5234a48db84e57",
    "jpn": "2fbc8095fec350a7e15dd224856bcca4b868cb7ba8fa5f6a45a4484fcf8038cf",
    "kor": "35249d375c16f018c0d3af66b42cd47593c3efe535bd0e8669653ae0f2c9468f",
    "lit": "bfb6df5782b4dd2572e4b5068f46311a50d194f9fefba9696efc5ab088fc0d92",
    "rum": "fde26884aba53a1c4985e4b3c6d0515872b9f744c9042ad26175f00a12d1bd72",
    "vie": "985ff1c8d3ec2927029c8b3543533d9e8811d1eb75d8468e8e2b9ae8c381e749",
}
LANGUAGES = (*SHA256,)
BASELINE = {  # wrong words of 100: an attentive LSTM, the best of 36 settings
    "ady": 28.00,
    "arm": 14.67,
    "bul": 31.11,
    "dut": 16.44,
    "fre": 6.22,
    "geo": 26.44,
    "gre": 18.89,
    "hin": 6.67,
    "hun": 5.33,
    "ice": 10.00,
    "jpn": 7.56,
    "kor": 46.89,
    "lit": 19.11,
    "rum": 10.67,
    "vie": 4.67,
}
SOUNDS = {"sh": "ʃ", "th": "θ", "a": "æ", "e": "ɛ", "c": "k", "q": "k w"}


def find(folder: Path, language: str) -> list[Path]:
    """Find the files of a language, plain or gzip, in the order of `PARTS`."""
    found = []
    for part in PARTS:
        plain = folder / f"{language}_{part}.tsv"
        packed = folder / f"{language}_{part}.tsv.gz"
        if not plain.exists() and not packed.exists():
            raise SystemExit(
                f"There is neither {plain} nor {packed}. Pass the folder "
                "of the data with --data, or add --download to download it."
            )
        found.append(plain if plain.exists() else packed)
    return found


def download(folder: Path, languages: list[str]):
    """Download the files of some languages that are missing; check them."""
    folder.mkdir(parents=True, exist_ok=True)
    for language in languages:
        content = hashlib.sha256()
        for part in PARTS:
            name = f"{language}_{part}.tsv"
            file = keras.utils.get_file(
                name,
                origin=f"{ORIGIN}/{part}/{name}",
                cache_dir=folder.resolve(),
                cache_subdir="",
            )
            content.update(Path(file).read_bytes())
        if content.hexdigest() != SHA256[language]:
            raise SystemExit(
                f"The files of {language} in {folder} are not those of "
                "SIGMORPHON 2020. Remove them, and run the command again."
            )


def make_up(folder: Path, languages: list[str]):
    """Write made-up words, whose sounds follow from their letters."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    letters = [*SOUNDS, *"bdiklmnoprstu"]
    for language in languages:
        for part, count in zip(PARTS, (200, 20, 20), strict=True):
            words = [draw.choices(letters, k=4) for _ in range(count)]
            lines = (
                "".join(word) + "\t" + " ".join(SOUNDS.get(x, x) for x in word)
                for word in words
            )
            file = folder / f"{language}_{part}.tsv"
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
