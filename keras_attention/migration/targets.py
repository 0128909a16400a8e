"""The weights of a target, by the names that TFA and Keras 2 give them."""

import math
from collections.abc import Iterable
from typing import Any
from typing import NamedTuple

import keras

from keras_attention.alignments import Monotonic
from keras_attention.attention import AbstractAttention
from keras_attention.attention import BahdanauAttention
from keras_attention.attention import LuongGeneral
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import AttentionDecoderCell
from keras_attention.migration import names
from keras_attention.models import Seq2Seq


class Slot(NamedTuple):
    """A weight of the target.

    Attributes:
        weight: The Keras variable.
        divisor: The stored value is divided by this number.
        transposed: Whether the stored value is transposed.
    """

    weight: Any
    divisor: float = 1.0
    transposed: bool = False


def cell_of(target: keras.layers.Layer) -> AttentionDecoderCell | None:
    """Return the decoder cell of a target, or `None` if it has none."""
    decoder = target.decoder if isinstance(target, Seq2Seq) else target
    cell = decoder.cell if isinstance(decoder, AttentionDecoder) else decoder
    return cell if isinstance(cell, AttentionDecoderCell) else None


def needed_by(target: keras.layers.Layer) -> list[names.Component]:
    """List the objects of TFA and Keras 2 that a target needs.

    Args:
        target: A built layer.

    Returns:
        Objects whose fields are `Slot`s, with every weight once.

    Raises:
        ValueError: If TFA has no such attention.
    """
    if isinstance(target, AbstractAttention):
        return [_attention(target)]
    cell = cell_of(target)
    if cell is None:
        return _components(target.weights)
    layer = {
        names.KERNEL: cell.attention_kernel,
        names.BIAS: cell.attention_bias,
    }
    layer = {k: Slot(x) for k, x in layer.items() if x is not None}
    found = [_attention(x) for x in cell.attentions]
    found += [names.Component(layer)] if layer else []
    for one in cell.cells:
        found += _components(one.weights, "target")
    return found + (_around(target) if isinstance(target, Seq2Seq) else [])


def _attention(layer: AbstractAttention) -> names.Component:
    """Map the weights of an attention to the variable names of a mechanism."""
    if type(layer) is BahdanauAttention:
        slots = {
            names.QUERY: Slot(layer.query_kernel),
            names.MEMORY: Slot(layer.key_kernel),
            "attention_v": Slot(layer.score_vector),
        }
        if layer.normalize:
            slots[names.SCALE] = Slot(layer.gain)
            slots["attention_b"] = Slot(layer.bias)
    elif type(layer) is LuongGeneral and layer.use_scale != "sqrt":
        slots = {names.MEMORY: Slot(layer.kernel, transposed=True)}
        if layer.use_scale:
            slots[names.SCALE] = Slot(layer.scale)
    else:
        raise ValueError(
            "load_tfa_weights requires an attention that TFA has: "
            "BahdanauAttention or LuongGeneral, whose alignment has no "
            "weights, such as 'softmax' or Monotonic(). Received: "
            f"{type(layer).__name__} with "
            f"use_scale={getattr(layer, 'use_scale', None)!r}."
        )
    if isinstance(layer.aligner, Monotonic):
        slots[names.SCORE_BIAS] = Slot(layer.aligner.score_bias)
    known = {id(x.weight) for x in slots.values()}
    others = [x for x in layer.weights if id(x) not in known]
    return names.Component(slots | {x.path: Slot(x) for x in others})


def _around(model: Seq2Seq) -> list[names.Component]:
    """List the objects around a model's decoder, with scaled embeddings."""
    root = math.sqrt(model.embedding_dim)
    embeddings = (model.source_embedding, model.target_embedding)
    sides = {id(embeddings[0]): "source", id(model.encoder): "source"}
    sides[id(model.bridge)] = None
    known = {id(x) for x in model.decoder.weights}
    found = []
    for layer in model.layers:
        new = [x for x in layer.weights if id(x) not in known]
        known.update(map(id, new))  # once, whatever shares it
        divisor = root if layer in embeddings else 1.0
        found += _components(new, sides.get(id(layer), "target"), divisor)
    return found


def _components(
    weights: Iterable, side: str | None = None, divisor: float = 1.0
) -> list[names.Component]:
    """Group the weights of one object, and normalization with its cell."""
    found, last = [], None
    for weight in weights:
        owner, name = names.own_name(tuple(weight.path.split("/")))
        field = names.base(name)  # `kernel_1` of a bridge is of a second layer
        owner = (*owner, name.removeprefix(field))
        if owner != last or field in found[-1].fields:
            meaning = (side, *names.meaning_of(owner)[1:])
            found.append(names.Component({}, meaning))
            last = owner
        found[-1].fields[field] = Slot(weight, divisor)
    return found
