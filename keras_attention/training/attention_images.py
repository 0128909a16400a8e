"""Pictures of attention in TensorBoard, while a model trains."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import keras
import numpy as np
from keras import ops

from keras_attention.checks import check_count
from keras_attention.checks import check_integer
from keras_attention.checks import check_object
from keras_attention.extras import require
from keras_attention.plots import plot_attention
from keras_attention.plots.attention import CELL
from keras_attention.plots.figures import LONGEST_SIDE
from keras_attention.search import AbstractSearch
from keras_attention.search import GreedySearch

if TYPE_CHECKING:
    from keras_attention.text import AbstractTokenizer

DOTS = 100  # per inch, unless the picture is too long


class AttentionImages(keras.callbacks.Callback):
    """Writes images of attention to TensorBoard, as a model learns.

    At the end of every `frequency`-th epoch it generates a target for each
    source and writes the attention as images `name/0`, `name/1` and so on, or
    `name/0/0`, `name/0/1` if the decoder has several attentions. Epochs are
    counted as in Keras' `TensorBoard`, so that both may share one `log_dir`.

    With `targets` the decoder is fed these words instead of its own, so that
    pictures can be compared row by row from epoch to epoch.

    It runs on every backend, but writes with TensorFlow. TensorBoard itself
    is only needed to look at the images.

    Args:
        log_dir: Folder of TensorBoard's files, `str` or `Path`.
        sources: Strings `(B,)`, or what the model takes: ids `(B, Tv)`, 0 for
            padding, or features `(B, Tv, D)`.
        source_tokenizer: The tokenizer of strings, which also gives the
            labels of ids. Defaults to `None`: the ids are the labels.
        target_tokenizer: The same for the target.
        search: A search strategy. Defaults to `GreedySearch()`.
        targets: Strings `(B,)`, or ids `(B, T)` with start and end, as a
            tokenizer gives them. Defaults to `None`: what `search` finds.
        frequency: Number of epochs from one image to the next. Defaults to
            `1`.
        name: Name of the images. Defaults to `"attention"`.

    Raises:
        ValueError: If strings come without a tokenizer, if there is not one
            target for each source, if `search` is no search strategy, or if
            `frequency` is not positive; in `fit`, if the model is no
            `Seq2Seq` that attends.
        ImportError: If TensorFlow or matplotlib is not installed.

    Example:

    ```python
    images = AttentionImages("logs", ["Guten Morgen!"], source_tokenizer,
                             target_tokenizer, frequency=5)
    model.fit(train, epochs=20, callbacks=[images])
    ```
    """

    def __init__(
        self,
        log_dir: str | Path,
        sources,
        source_tokenizer: "AbstractTokenizer | None" = None,
        target_tokenizer: "AbstractTokenizer | None" = None,
        search: AbstractSearch | None = None,
        targets=None,
        frequency: int = 1,
        name: str = "attention",
    ):
        super().__init__()
        require("tensorflow", "text", "AttentionImages")
        require("matplotlib.figure", "plots", "AttentionImages")
        check_integer("frequency", frequency)
        sides = source_tokenizer, target_tokenizer
        for side, given in zip(("source", "target"), sides, strict=True):
            if given is not None and not hasattr(given, "tokens"):
                raise ValueError(
                    f"`{side}_tokenizer` must be a tokenizer. Received: "
                    f"{side}_tokenizer={given!r}. Give that of the data."
                )
        self.log_dir = log_dir
        self.sources = _read_ids("source", sources, source_tokenizer)
        self.source_tokens = _labels(self.sources, source_tokenizer)
        self.target_tokenizer = target_tokenizer
        self.search = GreedySearch() if search is None else search
        way_out = "Try GreedySearch(max_length=50)."
        check_object("search", self.search, AbstractSearch, way_out)
        self.targets = targets
        if targets is not None:
            self.targets = _read_ids("target", targets, target_tokenizer)
            pair = self.targets, "sources", self.sources
            check_count("one target for each source", "targets", *pair)
        self.frequency = frequency
        self.name = name
        self._writer = None

    def on_train_begin(self, logs=None):
        decoder = getattr(self.model, "decoder", None)
        cell = getattr(decoder, "cell", None)
        if not getattr(cell, "attentions", ()):
            raise ValueError(
                "AttentionImages needs a Seq2Seq that attends. Received: "
                f"model={self.model}. Give its cell an attention."
            )
        tensorflow = require("tensorflow", "text", "AttentionImages")
        self._writer = tensorflow.summary.create_file_writer(str(self.log_dir))

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.frequency:
            return
        targets = self._targets()
        labels = _labels(targets[:, 1:], self.target_tokenizer)
        found = self.model.attend(self.sources, targets[:, :-1])
        attentions = [ops.convert_to_numpy(weights) for weights in found]
        with self._writer.as_default(step=epoch):
            for n, matrices in enumerate(zip(*attentions, strict=True)):
                for k, matrix in enumerate(matrices):
                    several = len(matrices) > 1
                    name = f"{self.name}/{n}" + (f"/{k}" if several else "")
                    image = draw(matrix, self.source_tokens[n], labels[n])
                    write_image(name, image)
        self._writer.flush()

    def _targets(self):
        """Return ids `(B, T + 1)`, from the start on."""
        if self.targets is not None:
            return self.targets
        found = self.model.generate(self.sources, self.search)
        longest = max(1, ops.convert_to_numpy(found.lengths)[:, 0].max())
        tokens = ops.convert_to_numpy(found.tokens)[:, 0, :longest]
        start = np.full_like(tokens[:, :1], self.search.start_id)
        return np.concatenate([start, tokens], axis=1)

    def on_train_end(self, logs=None):
        self._writer.close()


def draw(weights, source_tokens: list, target_tokens: list) -> bytes:
    """Draw one matrix as a PNG file.

    Args:
        weights: `(T, Tv)`.
        source_tokens: `Tv` strings, empty where there is padding.
        target_tokens: `T` strings, likewise.

    Returns:
        The bytes of the file.
    """
    # A figure that pyplot does not manage needs no screen and no closing.
    figure = require("matplotlib.figure", "plots", "AttentionImages").Figure()
    ax = figure.add_axes((0, 0, 1, 1))  # labels: outside
    plot_attention(weights, source_tokens, target_tokens, ax)
    rows, columns = ax.images[0].get_array().shape
    figure.set_size_inches(CELL * columns, CELL * rows)
    dots = DOTS * min(1.0, LONGEST_SIDE / (CELL * max(rows, columns)))
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dots, bbox_inches="tight")
    return file.getvalue()


def write_image(name: str, png: bytes):
    """Write an image to the default writer, for TensorBoard's image plugin.

    `tf.summary.image` would need TensorBoard to be installed.

    Args:
        name: Name of the image.
        png: The bytes of a PNG file.
    """
    tensorflow = require("tensorflow", "text", "AttentionImages")
    height, width, _ = tensorflow.io.decode_png(png).shape
    metadata = tensorflow.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "images"
    parts = [str(width).encode(), str(height).encode(), png]
    tensorflow.summary.write(name, parts, metadata=metadata)


def _read_ids(side, given, tokenizer):
    """Tokenize strings, and read anything else as an array."""
    rows = np.asarray(given)
    if rows.dtype.kind in "OSU":  # strings, also those of TensorFlow
        if tokenizer is None:
            raise ValueError(
                f"AttentionImages needs a `{side}_tokenizer` to read strings. "
                f"Received: {side}_tokenizer=None. Give the tokenizer, or ids."
            )
        rows = tokenizer.tokenize(rows)
    if rows.ndim not in ((2, 3) if side == "source" else (2,)):
        raise ValueError(
            f"`{side}s` must be a batch of strings (B,) or of ids (B, T). "
            f"Received: {side}s.shape={rows.shape}. Pad ids with zeros."
        )
    return rows


def _labels(rows, tokenizer):
    """Return the label of each id, or the position of each feature."""
    if rows.ndim == 3:
        return [[str(j) for j in range(rows.shape[1])]] * len(rows)
    if tokenizer is None:
        return [[str(i) if i else "" for i in row] for row in rows.tolist()]
    return tokenizer.tokens(rows).tolist()
