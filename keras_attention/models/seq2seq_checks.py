"""Checks of the parts and the inputs of a `Seq2Seq`."""

import math

import keras
import numpy as np

from keras_attention.checks import check_object
from keras_attention.checks import described
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import StateBridge
from keras_attention.layers.recurrence import directions
from keras_attention.models.encoder import RecurrentEncoder
from keras_attention.ops import is_traced
from keras_attention.search.constraints import as_prefix


def check_ids(
    name: str,
    ids,
    size: int | None,
    size_name: str,
    copies: int = 0,
    method: str = "fit",
):
    """Check that all ids of an array are in a vocabulary.

    Args:
        name: Name of the ids, for the error.
        ids: An array or a tensor `(B, T)`; anything else passes.
        size: Size of the vocabulary, or `None` if there is none.
        size_name: Name of the argument with the size, for the error.
        copies: Number of ids beyond the vocabulary, of words of the source.
            Defaults to `0`.
        method: Name of the method that takes the ids, for the error. Defaults
            to `"fit"`.

    Raises:
        ValueError: If an id is negative, or not below `size + copies`.
    """
    if size is None or not hasattr(ids, "shape") or 0 in ids.shape:
        return
    if len(ids.shape) != 2:
        return
    ids = keras.ops.convert_to_numpy(ids)
    if not (0 <= ids.min() and ids.max() < size + copies):
        known = f"{size_name}={size}"
        if copies:
            known = f"{known} and {copies} words of the source"
        raise ValueError(
            f"Seq2Seq.{method} needs {name} ids from 0 to {size + copies - 1}. "
            f"Received: ids from {ids.min()} to {ids.max()}, with {known}. "
            f"Raise `{size_name}`, or use the tokenizer that belongs to the "
            "model."
        )


class StopAtNaN(keras.callbacks.Callback):
    """Raises an error if the first loss of an epoch is NaN.

    An id outside of the vocabulary causes that, and the loss does not show
    which.

    Raises:
        ValueError: After the first batch, or after the first batches with
            `steps_per_execution`, if their loss is NaN.
    """

    def __init__(self):
        super().__init__()
        self.is_first = True

    def on_epoch_begin(self, epoch, logs=None):
        self.is_first = True

    def on_train_batch_end(self, batch, logs=None):
        # Not by `batch`: with `steps_per_execution` it is the last number.
        is_first, self.is_first = self.is_first, False
        loss = (logs or {}).get("loss", 0.0)
        if is_first and math.isnan(np.mean(loss)):
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
    """Return a pair of source and target, or raise an error.

    Args:
        inputs: Inputs of the model, or their shapes.
        method: Name of the method that takes them, for the error.

    Raises:
        ValueError: If `inputs` is no pair.
    """
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
            "generate a target, call model.generate(source)."
        )
    return inputs


def check_parts(encoder, decoder, bridge):
    """Check that encoder, decoder and bridge fit together.

    Raises:
        ValueError: If one of them has a wrong type or wrong options.
    """
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
    joins = isinstance(bridge, StateBridge) and bridge.mode != "zeros"
    if joins and bridge.bidirectional and len(_directions(encoder)) == 1:
        raise ValueError(
            "A StateBridge joins the states of two directions. Received: "
            f"bidirectional=True behind {type(encoder).__name__}, which reads "
            "one way. Use StateBridge(bidirectional=False), or no bridge."
        )


def _directions(encoder):
    """Return whether recurrent layers go backwards: a set of booleans.

    It is empty where none is found, as in a layer of the user's own.
    """
    if isinstance(encoder, keras.Model | RecurrentEncoder):
        return set().union(*map(_directions, encoder.layers))
    parts = directions(encoder)
    return {x.go_backwards for x in parts if isinstance(x, keras.layers.RNN)}


def check_states(encoder, states):
    """Check that an encoder returned states for the bridge.

    Raises:
        ValueError: If there are no states.
    """
    if not states:
        raise ValueError(
            "Seq2Seq with a bridge needs an encoder that returns `sequence, "
            f"*states`. Received: {type(encoder).__name__} "
            f"`{encoder.name}`, which returns no states. Make it with "
            "return_state=True, or use bridge=None."
        )


def check_search(search):
    """Check that `search` is an object of a search, or a function.

    Raises:
        ValueError: If it is a class, or cannot be called.
    """
    if isinstance(search, type) or not callable(search):
        raise ValueError(
            "`search` must be an object of a search strategy. Received: "
            f"search={described(search)}. Try BeamSearch(5) or GreedySearch()."
        )


def check_generation(model, source, search, prefix=None):
    """Check what `generate` gets; ids only outside of graphs.

    Args:
        model: A `Seq2Seq` that is built.
        source: A tensor, ids `(B, Tv)` or features `(B, Tv, D)`.
        search: The search strategy.
        prefix: Ids `(B, P)`, or `None`.

    Returns:
        The prefix, a tensor `(B, P)` or `None`.

    Raises:
        ValueError: If the source has another rank than that which the model
            is built for, the prefix is not one row of ids for each source, an
            id is not in its vocabulary, or the prefix holds the start id,
            which is never generated.
    """
    prefix = as_prefix(prefix, source.shape[0])
    shape, rank = tuple(source.shape), 1 + len(model._source_axes)
    if len(shape) != rank:
        wanted = "ids (B, Tv)" if rank == 2 else f"features of {rank} axes"
        raise ValueError(
            "Seq2Seq.generate needs a source as the model is built for: "
            f"{wanted}. Received: source.shape={shape}. A single source needs "
            "a batch axis, source[None]."
        )
    if is_traced(source) or is_traced(prefix):
        return prefix
    size, method = model.source_vocabulary_size, "generate"
    if not model.copying:
        check_ids("source", source, size, "source_vocabulary_size", 0, method)
    size = model.target_vocabulary_size
    copies = shape[1] if model.copying else 0
    check_ids("prefix", prefix, size, "target_vocabulary_size", copies, method)
    start = getattr(search, "start_id", 0)
    if prefix is None or start in (0, getattr(search, "end_id", None)):
        return prefix
    if np.any(keras.ops.convert_to_numpy(prefix) == start):
        raise ValueError(
            "`prefix` must be what comes behind the start id, which is never "
            f"generated. Received: a prefix with start_id={start}. Leave it "
            "out: prefix[:, 1:]."
        )
    return prefix


def check_arrays(model, x, y):
    """Check the ids that `fit` gets as arrays; datasets pass.

    Args:
        model: A `Seq2Seq`.
        x: The inputs of `fit`.
        y: The targets of `fit`.

    Raises:
        ValueError: If an id is not in the vocabulary.
    """
    if model.copying:  # ids of copied words are beyond the vocabulary
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
    """Return the callbacks of `fit` with `StopAtNaN` added."""
    if isinstance(callbacks, keras.callbacks.CallbackList):
        callbacks.callbacks.append(StopAtNaN())
        callbacks.set_model(callbacks.model)
        return callbacks
    if callbacks is None:
        callbacks = []
    listed = isinstance(callbacks, list | tuple)
    return [*(callbacks if listed else [callbacks]), StopAtNaN()]
