"""Checks of the parts of a Seq2Seq, and of what a model is trained with."""

import inspect

import keras
import numpy as np

from keras_attention.arrays import check_dense
from keras_attention.checks import check_ids
from keras_attention.checks import check_object
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import StateBridge
from keras_attention.layers.base import tensors_of
from keras_attention.layers.recurrence import directions
from keras_attention.models.encoder import RecurrentEncoder
from keras_attention.outputs import AbstractOutput


def as_pair(inputs, method: str):
    """Return a pair of source and target, or raise an error.

    Args:
        inputs: Inputs of the model, or their shapes.
        method: Name of the method, for the error.

    Raises:
        ValueError: If `inputs` is not a pair.
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
            f"Seq2Seq.{method} needs a pair of source and target. Received: "
            f"{said}. Train on ((source, target[:, :-1]), target[:, 1:]); to "
            "generate a target, call model.generate(source)."
        )
    return inputs


def check_one_vocabulary(argument: str, model):
    """Check that source and target of a model share one vocabulary.

    Args:
        argument: The argument that requires it, for the error.
        model: A model.

    Raises:
        ValueError: If the numbers of ids differ.
    """
    source, target = model.source_vocabulary_size, model.target_vocabulary_size
    if source != target:
        raise ValueError(
            f"{argument} needs one vocabulary for source and target. Received: "
            f"source_vocabulary_size={source}, "
            f"target_vocabulary_size={target}. Train one tokenizer on source "
            "and target together."
        )


def check_output(model):
    """Check that the output of a `Seq2Seq` matches the model.

    Raises:
        ValueError: If the output needs attention, embedded sources or one
            vocabulary, and the model does not have it.
    """
    output = model.readout
    check_object("output", output, AbstractOutput, "Subclass AbstractOutput.")
    if output.source_ids:
        check_one_vocabulary(output.argument, model)
    if output.reads_words and model.source_vocabulary_size is None:
        name, _, _ = output.argument.partition("=")
        raise ValueError(
            f"{output.argument} needs a source of ids. Received: "
            f"source_vocabulary_size=None. Omit `{name}`."
        )
    needing = [output.argument] if output.attends else []
    if model.return_attention_scores and not output.aligns:
        needing.append("return_attention_scores=True")
    if needing and not model.decoder.cell.attentions:
        name, _, _ = needing[0].partition("=")
        raise ValueError(
            f"`{name}` needs a decoder with attention. Received: {needing[0]} "
            "with attention=None."
        )


def check_parts(encoder, decoder, bridge):
    """Check that encoder, decoder and bridge are compatible.

    Raises:
        ValueError: If one of them has the wrong type or incompatible options.
    """
    layer = keras.layers.Layer
    check_object("encoder", encoder, layer, "Try RecurrentEncoder(256).")
    way_out = "Wrap the cell: AttentionDecoder(cell)."
    check_object("decoder", decoder, AttentionDecoder, way_out)
    if not decoder.return_sequences:
        raise ValueError(
            "`decoder` must be an AttentionDecoder with "
            "return_sequences=True. Received: return_sequences=False"
        )
    if bridge is None:
        return
    check_object("bridge", bridge, layer, "Try StateBridge().")
    joins = isinstance(bridge, StateBridge) and bridge.mode != "zeros"
    if joins and bridge.bidirectional and len(_directions(encoder)) == 1:
        raise ValueError(
            "StateBridge(bidirectional=True) needs an encoder that reads in "
            "both directions. Received: bidirectional=True after "
            f"{type(encoder).__name__}, which is unidirectional. Use "
            "StateBridge(bidirectional=False), or bridge=None."
        )


def _directions(encoder):
    """Return the set of values of `go_backwards` of recurrent layers.

    The set is empty if no layer is found, as in a custom layer.
    """
    if isinstance(encoder, keras.Model | RecurrentEncoder):
        return set().union(*map(_directions, encoder.layers))
    parts = directions(encoder)
    return {x.go_backwards for x in parts if isinstance(x, keras.layers.RNN)}


def check_compiled(model, *arguments, **options):
    """Check that no loss or metric of tokens is one of Keras'.

    If a model has several outputs, the first one contains the tokens.

    Args:
        model: A model whose call returns logits.
        *arguments: Arguments of `compile`.
        **options: Keyword arguments of `compile`.

    Raises:
        ValueError: If one of them treats logits as probabilities, or padding as
            tokens; or if the loss does not match the probabilities of the
            model's output.
    """
    given = _given("compile", model, arguments, options)
    for loss in keras.tree.flatten(given.get("loss"))[:1]:
        ours = "loss=SequenceCrossentropy()"
        _refuse_keras("loss", loss, keras.losses, ours, model)
        _check_probabilities(loss, model)
    for name in ("metrics", "weighted_metrics"):
        metrics = given.get(name)
        if isinstance(metrics, list | tuple) and any(
            isinstance(x, list | tuple) for x in metrics
        ):
            metrics = metrics[0]
        for metric in keras.tree.flatten(metrics):
            ours = f"{name}=[TokenAccuracy()], or Perplexity()"
            _refuse_keras(name, metric, keras.metrics, ours, model)


def _given(method, model, arguments, options):
    signature = inspect.signature(getattr(keras.Model, method))
    return signature.bind(model, *arguments, **options).arguments


def _refuse_keras(name, given, module, ours, model):
    if type(given) is keras.metrics.MeanMetricWrapper:  # of a user's function
        return
    if type(given) is keras.losses.SparseCategoricalCrossentropy:
        knows_words = given.from_logits and given.ignore_class == 0
    elif isinstance(given, str):
        knows_words = keras.saving.get_registered_object(given) is not None
    else:
        kind = given if hasattr(given, "__name__") else type(given)
        knows_words = getattr(module, kind.__name__, None) is not kind
    if not knows_words:
        raise ValueError(
            f"{type(model).__name__} needs losses and metrics that take logits "
            "and exclude padding, id 0. Those of Keras treat logits as "
            f"probabilities or padding as tokens. Received: {name}={given!r}. "
            f"Try {ours}, or a custom function or class."
        )


def _check_probabilities(loss, model):
    wanted = getattr(loss, "probabilities", None)
    found = getattr(model, "readout", AbstractOutput).probabilities
    if wanted not in (None, found):
        raise ValueError(
            f"{type(loss).__name__} needs a model with {wanted} probabilities. "
            f"Received: {type(model).__name__} with {found}. Create it with "
            f"Seq2Seq(..., output={wanted!r}), or train with "
            "SequenceCrossentropy()."
        )


def check_classes(model, method: str, *arguments, **options):
    """Check that no `class_weight` is given.

    Keras treats targets `(B, T)` as one-hot classes: the class of a row is the
    position of its largest id.

    Args:
        model: A model.
        method: Name of the method that trains it.
        *arguments: Arguments of the method.
        **options: Keyword arguments of the method.

    Raises:
        ValueError: If there is a `class_weight`.
    """
    given = _given(method, model, arguments, options)
    if given.get("class_weight") is not None:
        raise ValueError(
            f"{type(model).__name__}.{method} does not support `class_weight`, "
            "because a row has many tokens, not one class. Received: "
            f"class_weight={given['class_weight']!r}. Weight the tokens with "
            "an array of one weight per id: sample_weight=weights[targets]."
        )


def check_arrays(model, x, y):
    """Check ids that are passed to `fit` as arrays; datasets pass.

    Args:
        model: A `Seq2Seq`.
        x: The inputs of `fit`.
        y: The targets of `fit`.

    Raises:
        ValueError: If an id is not in the vocabulary.
    """
    is_pair = isinstance(x, list | tuple) and len(x) == 2
    source, target = x if is_pair else (None, x)
    for name, given in (("source", source), ("target", target), ("y", y)):
        for ids in tensors_of(given):
            check_dense(f"{type(model).__name__}.fit needs tensors", name, ids)
    if model.source_ids:  # ids of copied words are beyond the vocabulary
        return
    check_side("fit", "source", "source", source, model)
    check_side("fit", "target", "target", target, model)
    if isinstance(y, list | tuple) and y:
        y = y[0]
    check_side("fit", "target", "target", y, model)


def check_side(method, name, side, ids, model, copies=0):
    """Check ids `(B, T)` of the source or the target; others pass."""
    size_name = f"{side}_vocabulary_size"
    size = getattr(model, size_name)
    several = isinstance(size, tuple)
    if size is None or len(getattr(ids, "shape", ())) != 2 + several:
        return
    ids = keras.ops.convert_to_numpy(ids)
    columns = [(name, ids, size)]
    if several:  # ids (B, Tv, M)
        pairs = enumerate(size)
        columns = [(f"{name}[..., {i}]", ids[..., i], n) for i, n in pairs]
    more = f" and {copies} source positions" if copies else ""
    needs = f"{type(model).__name__}.{method} needs"
    way_out = f"Increase `{size_name}`, or use the tokenizer of the model."
    for name, ids, size in columns:
        known = f", with {size_name}={size}{more}"
        check_ids(f"{needs} {name}", ids, size + copies, known, way_out)


def check_losses(model, history):
    """Check that the first loss of a training is not NaN.

    An id outside the vocabulary can cause NaN, and the loss does not show which
    one.

    Args:
        model: A `Seq2Seq`.
        history: The result of `fit` of Keras.

    Raises:
        ValueError: If the first loss is NaN.
    """
    losses, epochs = history.history.get("loss", []), len(history.epoch)
    # Keras keeps in a `History` what trainings before have had.
    if epochs and np.isnan(losses[-epochs:][:1]).any():
        raise ValueError(
            "`fit` returned a loss of NaN in the first epoch, possibly because "
            "of token ids outside the vocabulary. Received: "
            f"source_vocabulary_size={model.source_vocabulary_size}, "
            f"target_vocabulary_size={model.target_vocabulary_size}. Check "
            "that the data comes from the model's tokenizers and that features "
            "are finite. The callback TerminateOnNaN stops such a training at "
            "once."
        )
