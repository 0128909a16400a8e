"""How is an English word pronounced? One small file answers, without Keras.

    python examples/pronounce_word.py attention

`saved_models/pronounce_en/pronounce.onnx` takes text and returns text, so that
this example needs only `numpy` and `onnxruntime`. `pronounce_english.py` wrote
the file. The output consists of phonemes of the [CMU Pronouncing
Dictionary](https://github.com/cmusphinx/cmudict). A number after a vowel marks
stress: 1 is the main stress, 2 a secondary stress, and 0 no stress. The same
folder contains a LiteRT file for phones, which `litert_translate.py` runs.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime

FILE = Path(__file__).parents[1] / "saved_models/pronounce_en/pronounce.onnx"
SHOWN = ["attention", "pronounce", "colonel"]


def load(file: Path = FILE, threads: int = 0) -> Callable:
    """Load an exported file of the format `"onnx_text"` or `"onnx_align"`.

    Args:
        file: The file.
        threads: Of onnxruntime. Defaults to `0`, one for each core.

    Returns:
        A function from words to the sounds of each.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file, options)

    def pronounce(words: list[str]) -> list[str]:
        texts = np.array(words, object)
        (found,) = session.run(["translations"], {"text": texts})
        return [row[0] for row in found]

    return pronounce


def main(quick: bool = False, words: list[str] | None = None) -> list[str]:
    """Print the sounds of some words.

    Args:
        quick: Whether to say one word only.
        words: The words. Defaults to three.

    Returns:
        Their sounds.
    """
    words = list(words or SHOWN)[: 1 if quick else None]
    found = load()(words)
    for word, sounds in zip(words, found, strict=True):
        print(f"{word}  {sounds}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("words", nargs="*")
    main(**vars(parser.parse_args()))
