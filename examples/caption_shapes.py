"""Can a decoder say what is in a picture, and where does it look?

A model learns to describe pictures of two shapes, in captions such as "a red
circle left of a blue square":

    python examples/caption_shapes.py

The example needs no data and no network, only the extras `onnx` and `plots`.
`helpers/shapes.py` draws the pictures. A small convolutional network turns each
picture into a grid of 6 x 6 feature vectors, and the decoder attends to the
grid as it would attend to the words of a sentence. No caption of the test set
occurs in the training set: the model has to combine words that it has seen
separately. This is a small version of [Xu et al.,
2015](https://arxiv.org/abs/1502.03044), with their soft attention.

On TensorFlow, the example exports the model to an ONNX file. The file takes a
picture, and returns the caption, its words, and the attention weights of each
word. The caption of the last picture in the figure comes from this file, run
without Keras.
"""

import argparse
import time
from pathlib import Path

import helpers.quiet  # noqa: F401

# isort: split
import keras
import numpy as np
from helpers import shapes
from keras import ops

from keras_attention import AttentionDecoder
from keras_attention import AttentionDecoderCell
from keras_attention import BahdanauAttention
from keras_attention import GreedySearch
from keras_attention import Seq2Seq
from keras_attention import SequenceCrossentropy
from keras_attention import StateBridge
from keras_attention import SymbolTokenizer
from keras_attention import TokenAccuracy
from keras_attention import Translator
from keras_attention import plot_attention_over_image
from keras_attention.extras import require

PICTURE, FILE = "caption_shapes.png", "caption_shapes.onnx"
BATCH_SIZE = 64
GRID = 6, 6
TOKENIZER = SymbolTokenizer(shapes.WORDS)


@keras.saving.register_keras_serializable(package="examples")
class GridEncoder(keras.layers.Layer):
    """Turns an image into a sequence of features, one for each grid cell.

    Each convolution halves height and width. The position of a cell, its row
    and column from -1 to 1, is appended to its features: attention has no
    other way to know it. The decoder's initial states are the mean over all
    cells.

    Args:
        filters: Number of filters of each convolution.
        **kwargs: Keras layer arguments, such as `name`.

    Shapes:
        image `(B, H, W, C)` -> sequence `(B, h w, filters[-1] + 2)`, and its
        mean `(B, filters[-1] + 2)` twice, as an LSTM has two states.
    """

    def __init__(self, filters: tuple[int, ...], **kwargs):
        super().__init__(**kwargs)
        self.filters = filters
        self.convolutions = [
            keras.layers.Conv2D(n, 4, 2, padding="same", activation="relu")
            for n in filters
        ]

    def build(self, image_shape):
        for convolution in self.convolutions:
            convolution.build(image_shape)
            image_shape = convolution.compute_output_shape(image_shape)

    def call(self, image):
        image = 2 * image - 1
        for convolution in self.convolutions:
            image = convolution(image)
        rows, columns = image.shape[1:3]
        sides = np.linspace(-1, 1, rows), np.linspace(-1, 1, columns)
        places = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
        places = ops.cast(places, image.dtype) + ops.zeros_like(image[..., :2])
        image = ops.concatenate([image, places], axis=-1)
        sequence = ops.reshape(image, (-1, rows * columns, image.shape[-1]))
        mean = ops.mean(sequence, axis=1)
        return sequence, mean, mean

    def get_config(self):
        return {**super().get_config(), "filters": self.filters}


def make_model(units: int) -> Seq2Seq:
    """Make a convolutional encoder and a decoder that attends to its grid."""
    cell = AttentionDecoderCell(
        keras.layers.LSTMCell(units),
        BahdanauAttention(units),
        order="luong",  # attend after reading a word, to choose the next
    )
    return Seq2Seq(
        target_vocabulary_size=TOKENIZER.vocabulary_size,
        embedding_dim=units // 4,
        encoder=GridEncoder((units // 2, units, units)),
        bridge=StateBridge(units=units, bidirectional=False),
        decoder=AttentionDecoder(cell),
    )


def train(
    scenes: tuple[np.ndarray, list[str]], units: int, epochs: int
) -> Translator:
    """Train a model on images and their captions."""
    images, captions = scenes
    ids = np.asarray(TOKENIZER.tokenize(captions))
    model = make_model(units)
    steps = epochs * -(-len(images) // BATCH_SIZE)
    rate = keras.optimizers.schedules.CosineDecay(0.003, steps)
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=1.0),
        loss=SequenceCrossentropy(),
        metrics=[TokenAccuracy()],
    )
    pairs = (images, ids[:, :-1]), ids[:, 1:]
    model.fit(*pairs, BATCH_SIZE, epochs, verbose=2)
    search = GreedySearch(max_length=shapes.LONGEST)
    return Translator(model, None, TOKENIZER, search)


def exact_match(
    translator: Translator, scenes: tuple[np.ndarray, list[str]]
) -> float:
    """Compute the share of captions without a mistake; print it by place."""
    images, wanted = scenes
    found = translator(images, batch_size=BATCH_SIZE, verbose=0)
    right = np.array([x == y for x, y in zip(found, wanted, strict=True)])
    for place in ("left of", "right of", "above", "below"):
        said = np.array([place in text for text in wanted])
        print(f"{place:>8}: {right[said].mean():7.2%} of {said.sum()}")
    for i in np.flatnonzero(~right)[:3]:
        print(f"   wrong: {found[i]!r}, which is {wanted[i]!r}")
    return float(right.mean())


def look(
    translator: Translator, image: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Return the words about an image `(H, W, 3)`, and weights `(T, h w)`."""
    found = translator(image[None], return_attention_scores=True)
    return found.target_tokens[0], found.attention[0]


def look_by_file(file: Path, image: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return what `look` does, by onnxruntime alone."""
    runtime = require("onnxruntime", "onnx", "caption_shapes.py")
    session = runtime.InferenceSession(file)
    words, weights = session.run(
        ["target_tokens", "attention"], {"source": image[None]}
    )
    return list(filter(None, words[0, 0])), weights[0, 0]


def draw(image: np.ndarray, words: list[str], weights: np.ndarray, file: Path):
    """Draw the attention of each word over an image `(H, W, 3)`."""
    words = [word for word in words if word != "</s>"]
    print(" ".join(words))
    axes = plot_attention_over_image(
        image, weights[: len(words)], words, grid=GRID
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    np.ravel(axes)[0].figure.savefig(file, bbox_inches="tight")


def main(
    quick: bool = False, output: str | Path = "outputs", seed: int = 0
) -> float:
    """Train, test, and draw where the model looks.

    Args:
        quick: Whether to train for seconds only, to try the code.
        output: Folder of the picture and of the file.
        seed: Seed of all random numbers.

    Returns:
        The share of held-out captions that are exactly right.
    """
    began = time.perf_counter()
    require("matplotlib.pyplot", "plots", "caption_shapes.py")
    keras.utils.set_random_seed(seed)
    count, tested, units, epochs = (
        (128, 64, 16, 10) if quick else (12000, 1000, 64, 8)
    )
    scenes = shapes.make_scenes(count, held_out=False, seed=seed)
    held_out = shapes.make_scenes(tested, held_out=True, seed=seed + 1)
    both = len(set(scenes[1])), len(set(held_out[1]))
    print(f"Training captions: {both[0]}, held out: {both[1]}")
    translator = train(scenes, units, epochs)
    share = exact_match(translator, held_out)
    print(f"Exact-match accuracy on {tested} new scenes: {share:.2%}")
    picture, file = Path(output) / PICTURE, Path(output) / FILE
    image = held_out[0][0]
    if keras.backend.backend() == "tensorflow":
        more = {"outputs": ("translations", "scores", "attention")}
        translator.export(file, "onnx_text", **more)
        print(f"File: {file}, {file.stat().st_size / 1000:.0f} kB")
        found = look_by_file(file, image)
    else:
        found = look(translator, image)
    draw(image, *found, picture)
    print(f"Total time: {time.perf_counter() - began:.0f} s")
    print(f"Picture: {picture}")
    return share


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", default="outputs", metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
