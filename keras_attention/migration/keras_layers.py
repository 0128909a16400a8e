"""Convert Keras' attention layers to layers of this package."""

from typing import Any

import keras
import numpy as np

from keras_attention.attention import AbstractAttention
from keras_attention.attention import BahdanauAttention
from keras_attention.attention import DotAttention
from keras_attention.checks import check_built
from keras_attention.checks import described

KINDS = (keras.layers.AdditiveAttention, keras.layers.Attention)


def from_keras_layers(source: Any) -> Any:
    """Convert Keras' `AdditiveAttention` or `Attention` to this package.

    Formula:

        AdditiveAttention: s . tanh(q + k)
        Attention: q . k, times a scale if it is used
        Attention, "concat": w sum tanh(g (q + k))

    `AdditiveAttention` and an `Attention` with `score_mode="concat"` become a
    `BahdanauAttention` whose kernels are the identity, times `g`. A dot-product
    `Attention` becomes a `DotAttention`. Contexts and attention weights are
    the same. However, the kernels of `BahdanauAttention` are trainable, and
    Keras' layer has no such kernels. Outputs differ in two cases only: at
    padded queries, Keras' layer returns zeros, but the new layer attends
    normally; if a whole source is masked, the new layer returns zeros.

    Call the new layer as `layer(query, value, key=None)`, not with a list. If
    you pass a functional model, it is copied: its attention layers and their
    calls are converted, and all other weights are the same.

    Args:
        source: A built `keras.layers.AdditiveAttention` or
            `keras.layers.Attention`, or a functional `keras.Model` with such
            layers.

    Returns:
        An attention layer, or a model.

    Raises:
        ValueError: If `source` is another layer or not built, or if it is a
            model that is not functional or has no such layer.

    Example:

    >>> layer = keras.layers.AdditiveAttention()
    >>> query, value = np.ones((2, 3, 8)), np.ones((2, 7, 8))
    >>> _ = layer([query, value])
    >>> tuple(from_keras_layers(layer)(query, value).shape)
    (2, 3, 8)
    """
    if type(source) in KINDS:
        return _convert_layer(source)
    if isinstance(source, keras.Model):
        return _convert_model(source)
    raise ValueError(
        "from_keras_layers needs a keras.layers.AdditiveAttention, a "
        "keras.layers.Attention, or a functional model with such layers. "
        f"Received: source={described(source)}. Other layers are not supported."
    )


def _convert_layer(layer) -> AbstractAttention:
    """Create the layer that computes the same, with its weights."""
    check_built(layer, "build", "Call it once, on [query, value].")
    shapes = [tuple(x) for x in layer.get_build_config()["input_shape"]]
    options = {
        "dropout": layer.dropout,
        "seed": getattr(layer, "seed", None),  # old versions keep none
        "name": layer.name,
        "dtype": layer.dtype_policy,
    }
    to_numpy = keras.ops.convert_to_numpy
    scale = to_numpy(layer.scale) if layer.use_scale else 1.0
    additive = isinstance(layer, keras.layers.AdditiveAttention)
    if not additive and layer.score_mode == "dot":
        ours = DotAttention("learned" if layer.use_scale else None, **options)
        weights = {"scale": scale} if layer.use_scale else {}
    else:
        size = shapes[0][-1]
        ours = BahdanauAttention(size, **options)
        kernel, vector = np.eye(size), scale * np.ones(size)
        if not additive:
            vector = to_numpy(layer.concat_score_weight) * np.ones(size)
            kernel = kernel * scale
        weights = {
            "query_kernel": kernel,
            "key_kernel": kernel,
            "score_vector": vector,
        }
    ours.build(*shapes)
    for name, value in weights.items():
        getattr(ours, name).assign(value)
    ours.trainable = layer.trainable
    return ours


def _convert_model(model):
    """Copy a functional model, and convert its attention layers."""
    made = {}

    def clone(layer):
        if type(layer) in KINDS:
            made[layer.name] = _convert_layer(layer)
            return made[layer.name]
        return type(layer).from_config(layer.get_config())

    def call(layer, *args, **kwargs):
        if not any(layer is x for x in made.values()):
            return layer(*args, **kwargs)
        inputs, *rest = args
        return layer(*inputs, *rest, **_renamed(kwargs))

    try:
        copy = keras.models.clone_model(
            model, clone_function=clone, call_function=call, recursive=True
        )
    except ValueError as error:
        raise ValueError(
            "from_keras_layers can only copy functional models. Received: "
            f"source={model!r}. For other models, pass the attention layers "
            f"one by one. ({error})"
        ) from error
    if not made:
        raise ValueError(
            "from_keras_layers needs a model with an AdditiveAttention or an "
            f"Attention layer. Received: source={model!r}, whose layers are "
            f"{[type(layer).__name__ for layer in model.layers]}."
        )
    _copy_weights(model, copy)
    return copy


def _renamed(kwargs: dict) -> dict:
    """Rename the arguments of a call, such as its masks."""
    masks = kwargs.pop("mask", None) or ()
    names = ("query_mask", "value_mask")
    given = {k: x for k, x in zip(names, masks, strict=False) if x is not None}
    return {**kwargs, **given}


def _copy_weights(source, target):
    """Copy the weights of all layers that both models have."""
    for old, new in zip(source.layers, target.layers, strict=True):
        if isinstance(old, keras.Model) and hasattr(old, "layers"):
            _copy_weights(old, new)
        elif type(old) not in KINDS:
            new.set_weights(old.get_weights())
        new.trainable = old.trainable
