"""multi30k_ids.py: ids in files, and a training where no TensorFlow is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.tensorflow

if keras.backend.backend() == "tensorflow":
    import multi30k_ids as example
    import translate_multi30k

TRAIN = """
import sys
sys.modules["tensorflow"] = None  # an import fails
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda x: None if x == "tensorflow" else find(x)
import translate_multi30k
translate_multi30k.main(folder=sys.argv[1])
"""


@pytest.fixture
def written(tmp_path):
    """The folder of a training whose ids are there."""
    translate_multi30k.main(quick=True, folder=tmp_path, prepare=True)
    return tmp_path


def test_written_ids_are_those_of_the_dataset(tmp_path):
    rng = np.random.default_rng(0)
    epochs = [
        [rng.integers(4, 9, (2, 3, width)) for width in (4, 6)]
        for _ in range(3)
    ]

    class Data:
        """Other batches in each epoch, as `parallel_dataset` gives them."""

        def __init__(self, epochs):
            self.epochs = iter(epochs)

        def __iter__(self):
            for source, target in next(self.epochs):
                yield (source, target[:, :-1]), target[:, 1:]

    about = {"recipe": {"epochs": 2}}
    example.write_ids(tmp_path, Data(epochs), Data(epochs[2:]), about, ["a"])
    read = example.WrittenIds(tmp_path, "train")
    for epoch in (0, 1, 0):
        read.read(epoch)
        assert len(read) == 2
        for i, (source, target) in enumerate(epochs[epoch]):
            (x, begin), end = read[i]
            np.testing.assert_array_equal(x, source)
            np.testing.assert_array_equal(begin, target[:, :-1])
            np.testing.assert_array_equal(end, target[:, 1:])
    val = example.WrittenIds(tmp_path, "val")
    np.testing.assert_array_equal(val[1][0][0], epochs[2][1][0])


def test_text_is_spelled_as_the_tokenizer_does():
    text = ["Zwei Männer gehen €!", "Ein Mann"]
    tokenizer = translate_multi30k.SentencePieceTokenizer.train(text[1:], 300)
    ids = tokenizer.tokenize(text).numpy()
    assert example.spell(ids, tokenizer.vocabulary) == text


@pytest.mark.slow
def test_it_trains_without_tensorflow_and_is_measured_with_it(
    written, monkeypatch
):
    path = os.pathsep.join([str(ROOT), str(ROOT / "examples")])
    subprocess.run(
        [sys.executable, "-c", TRAIN, written],
        env={**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": path},
        check=True,
    )
    assert (written / "model.weights.h5").exists()
    about = json.loads((written / "training.json").read_text())
    assert about["recipe"]["epochs"] == 1

    def report(model, tokenizer, *_):
        return model, f"BLEU of {tokenizer.vocabulary_size}"

    for name in ("draw_attention", "draw_curves"):
        monkeypatch.setattr(translate_multi30k, name, lambda *_: None)
    monkeypatch.setattr(translate_multi30k, "report", report)
    monkeypatch.delattr(translate_multi30k, "train")  # it is done
    found = translate_multi30k.main(quick=True, folder=written)
    assert found.startswith("BLEU of")
