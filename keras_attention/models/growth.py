"""Extends the vocabularies of a trained model."""

import keras
from keras import ops

from keras_attention.checks import check_built
from keras_attention.models.combination import members_config
from keras_attention.models.seq2seq import Seq2Seq
from keras_attention.ops import wide_dtype


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
