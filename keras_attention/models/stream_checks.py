"""Checks of what a stream gets: the model, and the parts of the source."""

import numpy as np
from keras import ops

from keras_attention.alignments import AbstractReading
from keras_attention.checks import refuse_to_stream
from keras_attention.decoder import StateBridge

ZEROS = "Use StateBridge('zeros', units=...), and train with it."


def find_readings(model) -> list[AbstractReading]:
    """Return how each attention of a model reads a source.

    Args:
        model: A `Seq2Seq`.

    Raises:
        ValueError: If the decoder or a part of it needs the end of the
            source.
    """
    model.readout.check_stream()
    attentions = model.decoder.cell.attentions
    if not attentions:
        refuse_to_stream(
            "attention=None",
            "leaves the decoder nothing but the encoder's last states",
            "Give the decoder an attention that reads on, such as "
            "BahdanauAttention(64, alignment=Monotonic(mode='hard')).",
        )
    bridge = model.bridge
    if bridge is None and getattr(model.encoder, "return_state", True):
        reason = "begins the decoder with the encoder's last states"
        refuse_to_stream("bridge=None", reason, ZEROS)
    mode = getattr(bridge, "mode", None)
    if bridge is not None and not (
        isinstance(bridge, StateBridge) and mode == "zeros"
    ):
        kind = type(bridge).__name__
        received = f"bridge={kind}({mode!r})" if mode else f"bridge={kind}"
        reason = "begins the decoder with the encoder's last states"
        refuse_to_stream(received, reason, ZEROS)
    if model.decoder.cell.attention_window is not None:
        refuse_to_stream(
            "attention_window",
            "follows the largest weight, and not where a stream has read",
            "Leave it out: a stream keeps only what may still be read.",
        )
    return [layer.reading() for layer in attentions]


def check_part(chunk, mask, rows: int, axes: tuple, classes: int | None):
    """Check a part of the source.

    Args:
        chunk: Ids `(B, n)`, or features `(B, n, D)`.
        mask: Boolean `(B, n)`, or `None`.
        rows: The number `B`.
        axes: The axes of features after `(B, n)`; empty for ids.
        classes: Number of ids, or `None` for features.

    Raises:
        ValueError: If a shape is another, ids are not in the vocabulary, or
            there is a mask for ids.
    """
    shape = tuple(chunk.shape)
    wanted = (rows, *shape[1:2], *axes)
    if len(shape) != 2 + len(axes) or shape != wanted:
        names = "(B, n)" if classes else "(B, n, D)"
        said = ", ".join(map(str, (rows, "n", *axes)))
        raise ValueError(
            f"`push` needs a chunk of shape {names}, here ({said}). Received: "
            f"chunk.shape={shape}. A single row needs a batch axis, x[None]; "
            "for another batch use `model.stream(batch_size=B)`."
        )
    if mask is not None and classes:
        raise ValueError(
            "`push` takes a mask for features alone: id 0 is padding. "
            f"Received: mask of shape {np.shape(mask)}. Put 0 where there is "
            "no id."
        )
    if mask is not None and np.shape(mask) != shape[:2]:
        raise ValueError(
            "`push` needs a mask (B, n), True at real positions. Received: "
            f"mask.shape={np.shape(mask)} for chunk.shape={shape}. "
            "Leave it out if all positions are real."
        )
    if classes and shape[1]:
        ids = ops.convert_to_numpy(chunk)
        if ids.dtype.kind not in "iu" or not (
            ids.min() >= 0 and ids.max() < classes
        ):
            raise ValueError(
                f"`push` needs whole numbers from 0 to {classes - 1}, as "
                f"source_vocabulary_size={classes}. Received: {ids.dtype} "
                f"from {ids.min()} to {ids.max()}. Use the tokenizer that "
                "belongs to the model."
            )
