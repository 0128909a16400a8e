"""Ids of Multi30k in files, to train on where there is no TensorFlow."""

import json
from collections.abc import Iterable
from pathlib import Path

import keras
import numpy as np
from multi30k_recipe import Recipe
from multi30k_recipe import build
from multi30k_recipe import claim
from multi30k_recipe import train

from keras_attention import GreedySearch
from keras_attention import Seq2Seq
from keras_attention import ValidationBleu

FIRST, END = 4, 3  # the first id that is a piece; the id of the end


def write_ids(
    folder: Path,
    batches: Iterable,
    validation: Iterable,
    about: dict,
    pieces: list[str],
):
    """Write the batches of all epochs, for a machine without TensorFlow.

    Args:
        folder: Gets them, and `about.json` last.
        batches: What `parallel_dataset` gives for training.
        validation: What it gives for validation.
        about: As of `claim`, with the recipe as `"recipe"`.
        pieces: The vocabulary of a `SentencePieceTokenizer`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"train_{epoch}" for epoch in range(about["recipe"]["epochs"])]
    for name in ["val", *names]:
        found = {}
        for i, batch in enumerate(validation if name == "val" else batches):
            (source, begin), end = keras.tree.map_structure(np.asarray, batch)
            target = np.concatenate([begin[:, :1], end], axis=1)
            found[f"source_{i}"] = source.astype("uint16")
            found[f"target_{i}"] = target.astype("uint16")
        np.savez_compressed(folder / f"{name}.npz", **found)
    content = json.dumps({"about": about, "pieces": pieces})
    (folder / "about.json").write_text(content, encoding="utf-8")
    print(f"Ids: {folder}")


class WrittenIds(keras.utils.PyDataset):
    """Reads the batches that `write_ids` has written.

    Args:
        folder: The folder.
        name: `"val"`, or `"train"`, whose epochs differ: see `read`.
    """

    def __init__(self, folder: Path, name: str):
        super().__init__()
        self.folder, self.name = folder, name
        self.read(0)

    def read(self, epoch: int):
        """Read the batches of an epoch."""
        whole = self.name if self.name == "val" else f"{self.name}_{epoch}"
        with np.load(self.folder / f"{whole}.npz") as file:
            sides = [
                [file[f"{side}_{i}"] for i in range(len(file.files) // 2)]
                for side in ("source", "target")
            ]
        self.batches = [*zip(*sides, strict=True)]

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        source, target = (x.astype("int32") for x in self.batches[index])
        return (source, target[:, :-1]), target[:, 1:]


def spell(ids: np.ndarray, pieces: list[str]) -> list[str]:
    """Write rows of ids as text, without the tokenizer.

    Args:
        ids: `(B, T)`, of a `SentencePieceTokenizer`.
        pieces: Its vocabulary.
    """

    def content(piece):
        is_byte = len(piece) == 6 and piece.startswith("<0x")
        return bytes.fromhex(piece[3:5]) if is_byte else piece.encode()

    texts = []
    for row in ids:
        row = [int(i) for i in row]
        row = row[: row.index(END)] if END in row else row
        text = b"".join(content(pieces[i - FIRST]) for i in row if i >= FIRST)
        text = text.decode("utf-8", "replace").replace("\u2581", " ")
        texts.append(text.removeprefix(" "))
    return texts


def train_on_ids(folder: Path, ids: Path) -> Seq2Seq:
    """Train from what `write_ids` has written.

    Args:
        folder: Of the training, as of `train`.
        ids: The folder of the ids.

    Returns:
        The model.
    """
    content = json.loads((ids / "about.json").read_text(encoding="utf-8"))
    about, pieces = content["about"], content["pieces"]
    claim(folder, about)
    keras.utils.set_random_seed(about["seed"])
    recipe = Recipe(**about["recipe"])
    batches, validation = (WrittenIds(ids, name) for name in ("train", "val"))
    model = build(recipe, FIRST + len(pieces))
    model.build(((None, None), (None, None)))
    search = GreedySearch(max_length=60)
    sources, wanted = [], []
    for (source, _), target in (validation[i] for i in range(len(validation))):
        sources.append(source)
        wanted += spell(target, pieces)

    def translate(_):
        found = [
            model.generate(x, search, return_attention_scores=False).tokens
            for x in sources
        ]
        found = [keras.ops.convert_to_numpy(x)[:, 0] for x in found]
        return [text for x in found for text in spell(x, pieces)]

    bleu = ValidationBleu(translate, wanted, wanted)
    following = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, _: batches.read(epoch)
    )
    train(model, recipe, batches, validation, bleu, folder, following)
    return model
