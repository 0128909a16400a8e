"""Checks of training data that would otherwise train on nonsense."""

import math

import keras
import numpy as np


def check_ids(name: str, ids, size: int | None, size_name: str):
    """Refuse arrays of ids that a vocabulary does not have.

    Args:
        name: What the ids are, for the error.
        ids: An array or a tensor of ids; anything else passes.
        size: How many ids there are, or `None` if they are no ids.
        size_name: The argument that says so, for the error.

    Raises:
        ValueError: If an id is negative, or not below `size`.
    """
    if size is None or not hasattr(ids, "shape") or 0 in ids.shape:
        return
    ids = keras.ops.convert_to_numpy(ids)
    if not (0 <= ids.min() and ids.max() < size):
        raise ValueError(
            f"Seq2Seq.fit needs {name} ids from 0 to {size - 1}. Received: "
            f"ids from {ids.min()} to {ids.max()}, with {size_name}={size}. "
            f"Raise `{size_name}`, or use the tokenizer that belongs to the "
            "model."
        )


class StopAtNaN(keras.callbacks.Callback):
    """Raises an error if the first batch of training has no finite loss.

    An id outside of the vocabulary does that, and no number shows which.

    Raises:
        ValueError: After the first batch, if its loss is NaN.
    """

    def on_train_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss", 0.0)
        if batch == 0 and math.isnan(np.mean(loss)):
            model = self.model
            raise ValueError(
                "Seq2Seq.fit needs ids that its vocabularies have. Received: "
                "a first batch whose loss is NaN, with "
                f"source_vocabulary_size={model.source_vocabulary_size}, "
                f"target_vocabulary_size={model.target_vocabulary_size}. "
                "Check that the data comes from the model's tokenizers, and "
                "that features are finite."
            )
