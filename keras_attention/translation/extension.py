"""Extend the vocabularies of a translator: of its model and its tokenizers."""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import keras

from keras_attention.backend import ops
from keras_attention.checks import check_built
from keras_attention.models import AbstractModel
from keras_attention.models.combination import members_config
from keras_attention.models.seq2seq import Seq2Seq
from keras_attention.ops import wide_dtype
from keras_attention.text import AbstractTokenizer
from keras_attention.text.sentences import as_texts


def extended_parts(
    model: AbstractModel,
    source_tokenizer: AbstractTokenizer | None,
    target_tokenizer: AbstractTokenizer,
    texts_or_tokenizers: Sequence[AbstractTokenizer | Iterable[str] | None],
) -> dict[str, Any]:
    """Return model and tokenizers with larger vocabularies.

    Args:
        model: A `Seq2Seq`.
        source_tokenizer: The source tokenizer of a translator.
        target_tokenizer: Its target tokenizer.
        texts_or_tokenizers: As in `Translator.extended`.

    Returns:
        The new components, by argument name of `Translator`.
    """
    pair = texts_or_tokenizers
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise ValueError(
            "`texts_or_tokenizers` must be a pair, for source and target. "
            f"Received: {type(pair).__name__}. Pass a pair such as "
            "(sources, targets)."
        )
    if model.source_ids:  # to copy, both sides have the same entries
        pair = _shared_texts(*pair)
    source = _extended("source", source_tokenizer, pair[0])
    target = _extended("target", target_tokenizer, pair[1])
    sizes = (x and x.vocabulary_size for x in (source, target))
    return {
        "model": extended_model(model, *sizes),
        "source_tokenizer": source,
        "target_tokenizer": target,
    }


def _shared_texts(source, target):
    """Use the texts of both sides, or a single tokenizer, for both."""
    given = [x for x in (source, target) if x is not None]
    if any(isinstance(x, AbstractTokenizer) for x in given):
        return given[0], given[-1]
    sides = ("source", source), ("target", target)
    texts = [
        text
        for side, x in sides
        if x is not None
        for text in as_texts(f"{side} texts", x)
    ]
    return texts, texts


def _extended(
    side: str,
    tokenizer: AbstractTokenizer | None,
    given: AbstractTokenizer | Iterable[str] | None,
) -> AbstractTokenizer | None:
    """Return a tokenizer with additional vocabulary entries.

    Args:
        side: `"source"` or `"target"`.
        tokenizer: The tokenizer, or `None` for features.
        given: Texts with new vocabulary entries, a tokenizer whose vocabulary
            begins with all old entries, or `None` for no new entries.

    Returns:
        The new tokenizer, or the old one if there are no new entries.

    Raises:
        ValueError: If the tokenizer cannot be extended, or if the vocabulary
            of `given` does not begin with all old entries.
    """
    if given is None:
        return tokenizer
    if tokenizer is None:
        raise ValueError(
            f"The {side} can only be extended if it is text. Received: a "
            "translator of features. Pass None for this side."
        )
    if not isinstance(given, AbstractTokenizer):
        texts = as_texts(f"{side} texts", given)
        unknown = any(tokenizer.unknown(texts))
        return tokenizer.extended(texts) if unknown else tokenizer
    old = tokenizer.vocabulary
    alike = type(given) is type(tokenizer) and len(given.parts) == 1
    if not alike or given.vocabulary[: len(old)] != old:
        raise ValueError(
            f"A new {side} tokenizer must begin with all entries of the old "
            f"one. Received: {type(given).__name__} with "
            f"{len(given.vocabulary)} entries. Create it with "
            "`tokenizer.extended(texts)`."
        )
    return given


def extended_model(
    model: Seq2Seq, source_size: int | None, target_size: int
) -> Seq2Seq:
    """Create a model with larger vocabularies from a trained model.

    New rows of embeddings, and new columns and biases of the output, are the
    mean of the old ones. Therefore the logit of a new entry is initially the
    mean of all logits. The probabilities of the old entries keep their ratios,
    and lose at most the share of new entries in the vocabulary, because the
    exponential of a mean is at most the mean of exponentials. Random rows could
    have much larger logits, and take probability from trained entries.

    Args:
        model: A trained model. It is not changed.
        source_size: Number of source ids, or `None` for features. If the model
            has more, they are kept.
        target_size: Number of target ids; if the model has more, they are kept.

    Returns:
        The new model, which is not compiled.

    Raises:
        ValueError: If the model is not a `Seq2Seq` with unchanged layers.

    Reference:
        [Hewitt, 2021](https://nlp.stanford.edu/~johnhew/vocab-expansion.html).
    """
    needed = (
        "Extending the vocabularies requires a trained, unmodified Seq2Seq."
    )
    if not isinstance(model, Seq2Seq):
        raise ValueError(
            f"{needed} Received: {type(model).__name__}. Extend each of its "
            "members separately."
        )
    check_built(model, "extended", "Train it, load it, or build it.")
    [config] = members_config([model])
    for name, size in (
        ("source_vocabulary_size", source_size),
        ("target_vocabulary_size", target_size),
    ):
        if size is not None:
            config["config"][name] = max(getattr(model, name), size)
    new = keras.saving.deserialize_keras_object(config)
    kinds = [
        [(x.name, x.dtype, len(x.shape)) for x in own.weights]
        for own in (model, new)
    ]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"{needed} Received: a model with quantized or LoRA weights. "
            "Extend it before quantization or LoRA."
        )
    for old, larger in zip(model.weights, new.weights, strict=True):
        larger.assign(_grown(old, larger.shape))
    return new


def _grown(weight, shape):
    """Append means along the axis that grows."""
    value = ops.convert_to_tensor(weight)
    for axis, size in enumerate(shape):
        more = size - weight.shape[axis]
        if more:
            wide = ops.cast(value, wide_dtype(weight.dtype))
            mean = ops.cast(ops.mean(wide, axis, keepdims=True), weight.dtype)
            value = ops.concatenate([value, ops.repeat(mean, more, axis)], axis)
    return value
