"""Pictures of attention for TensorBoard, while a model trains."""

import io
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_attention.checks import check_integer
from keras_attention.extras import require
from keras_attention.plots import plot_attention
from keras_attention.search import GreedySearch

CELL = 0.36  # inches, for a label of ten points with a little air
DOTS = 100  # an inch
LONGEST_SIDE = 2400  # dots: a larger picture gets smaller cells


class AttentionImages(keras.callbacks.Callback):
    """Shows in TensorBoard where a model looks, and how that changes.

    At the end of every `frequency`-th epoch it generates a target for each
    source, the same sources every time, and writes the attention as images
    `name/0`, `name/1` and so on; of a decoder with several attentions as
    `name/0/0`, `name/0/1`. Epochs are counted as Keras' `TensorBoard` counts
    them, so that one `log_dir` may serve both.

    With `targets` the decoder is fed these words instead of its own, so that
    pictures can be compared row by row from epoch to epoch.

    It runs on every backend, but writes with TensorFlow. TensorBoard itself
    is needed only to look at the images.

    Args:
        log_dir: Folder of TensorBoard's files, `str` or `Path`.
        sources: Strings `(B,)`, or what the model takes: ids `(B, Tv)`, 0 for
            padding, or features `(B, Tv, D)`.
        source_tokenizer: Reads `sources` if they are strings, and names their
            ids. Defaults to `None`: the ids are the labels.
        target_tokenizer: The same of the target.
        search: A search strategy. Defaults to `GreedySearch()`.
        targets: Strings `(B,)`, or ids `(B, T)` with start and end, as a
            tokenizer gives them. Defaults to `None`: what `search` finds.
        frequency: How many epochs lie between two images. Defaults to `1`.
        name: What the images are called. Defaults to `"attention"`.

    Raises:
        ValueError: If strings come without a tokenizer, if there is not one
            target for each source, if `frequency` is not positive, or, once
            training begins, if the model is no `Seq2Seq` that attends.
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
        source_tokenizer=None,
        target_tokenizer=None,
        search=None,
        targets=None,
        frequency: int = 1,
        name: str = "attention",
    ):
        super().__init__()
        require("tensorflow", "text", "AttentionImages")
        require("matplotlib.figure", "plots", "AttentionImages")
        check_integer("frequency", frequency)
        self.log_dir = log_dir
        self.sources = _read_ids("source", sources, source_tokenizer)
        self.source_tokens = _labels(self.sources, source_tokenizer)
        self.target_tokenizer = target_tokenizer
        self.search = GreedySearch() if search is None else search
        self.targets = targets
        if targets is not None:
            self.targets = _read_ids("target", targets, target_tokenizer)
            if len(self.targets) != len(self.sources):
                raise ValueError(
                    "`targets` needs one target for each source. Received: "
                    f"{len(self.targets)} targets, {len(self.sources)} sources."
                )
        self.frequency = frequency
        self.name = name
        self._writer = None

    def on_train_begin(self, logs=None):
        decoder = getattr(self.model, "decoder", None)
        cell = getattr(decoder, "cell", None)
        if not getattr(cell, "attentions", ()):
            raise ValueError(
                "AttentionImages needs a Seq2Seq that attends. Received: "
                f"model={self.model}. Give its AttentionDecoderCell an "
                "attention."
            )
        tensorflow = require("tensorflow", "text", "AttentionImages")
        self._writer = tensorflow.summary.create_file_writer(str(self.log_dir))

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.frequency:
            return
        targets, real = self._generate()
        labels = _labels(targets[:, 1:], self.target_tokenizer)
        attentions = self._attend(targets[:, :-1], real)
        with self._writer.as_default(step=epoch):
            for n, matrices in enumerate(zip(*attentions, strict=True)):
                for k, matrix in enumerate(matrices):
                    several = len(matrices) > 1
                    name = f"{self.name}/{n}" + (f"/{k}" if several else "")
                    image = draw(matrix, self.source_tokens[n], labels[n])
                    write_image(name, image)
        self._writer.flush()

    def _generate(self):
        """Give ids `(B, T + 1)` from the start on, and the real steps."""
        if self.targets is not None:
            return self.targets, self.targets[:, :-1] != 0
        found = self.model.generate(self.sources, self.search)
        lengths = ops.convert_to_numpy(found.lengths)[:, :1]
        longest = max(1, lengths.max())
        tokens = ops.convert_to_numpy(found.tokens)[:, 0, :longest]
        start = np.full_like(lengths, self.search.start_id)
        # Not `tokens != 0`: a model may write a 0, which is no padding then.
        real = np.arange(longest) < lengths
        return np.concatenate([start, tokens], axis=1), real

    def _attend(self, fed, real):
        """Feed ids `(B, T)`: the weights `(B, T, Tv)` of each attention."""
        model = self.model
        memory, states, mask = model.encode(
            ops.convert_to_tensor(self.sources), training=False
        )
        _, weights, *_ = model.decoder(
            model.embed_target(ops.convert_to_tensor(fed)),
            memory,
            initial_state=states,
            sequence_mask=ops.convert_to_tensor(real),
            memory_mask=mask,
            return_attention_scores=True,
            training=False,
        )
        weights = weights if isinstance(weights, list) else [weights]
        return [ops.convert_to_numpy(matrices) for matrices in weights]

    def on_train_end(self, logs=None):
        self._writer.close()


def draw(weights, source_tokens, target_tokens) -> bytes:
    """Draw one matrix, at ten points a label, as a PNG file.

    Args:
        weights: `(T, Tv)`.
        source_tokens: `Tv` strings, empty where there is padding.
        target_tokens: `T` strings, likewise.

    Returns:
        The bytes of the file.
    """
    # A figure that pyplot does not know needs no screen and no closing.
    figure = require("matplotlib.figure", "plots", "AttentionImages").Figure()
    ax = figure.add_axes((0, 0, 1, 1))  # labels lie outside, and are kept
    plot_attention(weights, source_tokens, target_tokens, ax)
    rows, columns = ax.images[0].get_array().shape
    figure.set_size_inches(CELL * columns, CELL * rows)
    dots = min(DOTS, LONGEST_SIDE / (CELL * max(rows, columns)))
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dots, bbox_inches="tight")
    return file.getvalue()


def write_image(name: str, png: bytes):
    """Write an image to the default writer, as TensorBoard's plugin reads it.

    `tf.summary.image` would need TensorBoard to be installed.

    Args:
        name: What TensorBoard calls it.
        png: The bytes of a PNG file.
    """
    tensorflow = require("tensorflow", "text", "AttentionImages")
    height, width, _ = tensorflow.io.decode_png(png).shape
    metadata = tensorflow.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "images"
    parts = [str(width).encode(), str(height).encode(), png]
    tensorflow.summary.write(name, parts, metadata=metadata)


def _read_ids(side, given, tokenizer):
    """Read strings by their tokenizer, and anything else as an array."""
    rows = np.asarray(given)
    if rows.dtype.kind in "OSU":  # strings, also those of TensorFlow
        if tokenizer is None:
            raise ValueError(
                f"AttentionImages needs a `{side}_tokenizer` to read `{side}s`"
                " that are strings. Received: "
                f"{side}_tokenizer=None. Give it, or ids."
            )
        rows = tokenizer.tokenize(given).numpy()
    if rows.ndim not in ((2, 3) if side == "source" else (2,)):
        raise ValueError(
            f"`{side}s` must be a batch of strings (B,) or of ids (B, T). "
            f"Received an array of shape {rows.shape}. Pad ids with zeros."
        )
    return rows


def _labels(rows, tokenizer):
    """Name all ids; features are called by their position."""
    if rows.ndim == 3:
        return [[str(j) for j in range(rows.shape[1])]] * len(rows)
    if tokenizer is None:
        return [[str(i) if i else "" for i in row] for row in rows.tolist()]
    return tokenizer.tokens(rows).numpy().tolist()
