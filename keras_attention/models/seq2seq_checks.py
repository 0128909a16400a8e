"""Checks of the parts of a `Seq2Seq`, and of what it is called with."""

import math

import keras
import numpy as np

from keras_attention.checks import check_object
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import StateBridge
from keras_attention.models.encoder import RecurrentEncoder


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
    if len(ids.shape) != 2:
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


def as_pair(inputs, method: str):
    """Return source and target, or say what is missing."""
    several = isinstance(inputs, list | tuple)
    is_shape = several and any(isinstance(x, int | None) for x in inputs)
    if not several or is_shape or len(inputs) != 2:
        said = f"a {type(inputs).__name__}"
        if is_shape:
            said = f"one input of shape {tuple(inputs)}"
        elif several:
            said = f"{said} of {len(inputs)}"
        raise ValueError(
            f"Seq2Seq.{method} needs a pair, of source and target. Received: "
            f"{said}. Train on ((source, target[:, :-1]), target[:, 1:]); to "
            "write a target, call model.generate(source)."
        )
    return inputs


def check_parts(encoder, decoder, bridge):
    """Check that encoder, decoder and bridge go together."""
    check_object(
        "encoder", encoder, keras.layers.Layer, "Try RecurrentEncoder(256)."
    )
    way_out = "Wrap the cell: AttentionDecoder(cell)."
    check_object("decoder", decoder, AttentionDecoder, way_out)
    if not decoder.return_sequences:
        raise ValueError(
            "`decoder` must be an AttentionDecoder with "
            "return_sequences=True. Received: return_sequences=False"
        )
    if bridge is None:
        return
    check_object("bridge", bridge, keras.layers.Layer, "Try StateBridge().")
    one_way = isinstance(encoder, keras.layers.RNN) or (
        isinstance(encoder, RecurrentEncoder) and not encoder.bidirectional
    )
    if isinstance(bridge, StateBridge) and bridge.bidirectional and one_way:
        raise ValueError(
            "A StateBridge joins the states of two directions. Received: "
            f"bidirectional=True behind {type(encoder).__name__}, which reads "
            "one way. Use StateBridge(bidirectional=False), or no bridge."
        )


def check_states(encoder, states):
    """Check that there is something to bridge."""
    if not states:
        raise ValueError(
            "Seq2Seq with a bridge needs an encoder that returns `sequence, "
            f"*states`. Received: {type(encoder).__name__} "
            f"`{encoder.name}`, which returns no states. Make it with "
            "return_state=True, or use bridge=None."
        )


def check_search(search):
    """Check that something is a search, or a function called like one."""
    if isinstance(search, type) or not callable(search):
        is_class = isinstance(search, type)
        said = f"the class {search.__name__}" if is_class else repr(search)
        raise ValueError(
            "`search` must be an object of a search strategy. Received: "
            f"search={said}. Try BeamSearch(5) or GreedySearch()."
        )


def check_arrays(model, x, y):
    """Check the ids that `fit` gets as arrays; datasets pass.

    Args:
        model: A `Seq2Seq`.
        x: The inputs of `fit`.
        y: The targets of `fit`.
    """
    if model.copying:  # whose ids go beyond the vocabulary
        return
    if isinstance(x, list | tuple) and len(x) == 2:
        size = model.source_vocabulary_size
        check_ids("source", x[0], size, "source_vocabulary_size")
        size = model.target_vocabulary_size
        check_ids("target", x[1], size, "target_vocabulary_size")
    if isinstance(y, list | tuple) and y:
        y = y[0]
    size = model.target_vocabulary_size
    check_ids("target", y, size, "target_vocabulary_size")


def with_nan_check(callbacks):
    """Add `StopAtNaN` to the callbacks that `fit` gets."""
    if isinstance(callbacks, keras.callbacks.CallbackList):
        callbacks.append(StopAtNaN())
        return callbacks
    if callbacks is None:
        callbacks = []
    listed = isinstance(callbacks, list | tuple)
    return [*(callbacks if listed else [callbacks]), StopAtNaN()]
