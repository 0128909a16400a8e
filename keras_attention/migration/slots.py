"""The weights of a target, and what each takes of a TFA program."""

import math
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import keras
import numpy as np

from keras_attention.alignments import Monotonic
from keras_attention.attention import AbstractAttention
from keras_attention.attention import BahdanauAttention
from keras_attention.attention import LuongGeneral
from keras_attention.decoder import AttentionDecoder
from keras_attention.decoder import AttentionDecoderCell
from keras_attention.decoder import StateBridge
from keras_attention.migration.stored import base
from keras_attention.models import Seq2Seq


class Slot(NamedTuple):
    """A weight of ours.

    Attributes:
        weight: The Keras variable.
        convert: What makes its value of the stored one. `None` if they are
            the same.
    """

    weight: Any
    convert: Callable | None = None

    @property
    def shape(self) -> tuple:
        """The shape that the stored value must have."""
        if self.convert is None:
            return tuple(self.weight.shape)
        return self.convert(np.zeros(self.weight.shape)).shape


class Unit(NamedTuple):
    """An object of ours with weights, such as a cell or an embedding.

    Attributes:
        slots: Its weights, by the names that Keras gives them.
        side: `"source"`, `"target"`, or `None` for neither.
        direction: `"forward"`, `"backward"`, or `None`.
    """

    slots: dict[str, Slot]
    side: str | None = None
    direction: str | None = None


class Wanted(NamedTuple):
    """All that a target needs.

    Attributes:
        attentions: The slots of each attention, by the fields of a mechanism.
        attentional: Slots `kernel` and `bias` of the attentional layer.
        units: All other objects, in their order.
    """

    attentions: list[dict[str, Slot]]
    attentional: dict[str, Slot]
    units: list[Unit]


def wanted_by(target: keras.layers.Layer) -> Wanted:
    """List what a target needs.

    Args:
        target: A built layer.

    Returns:
        A `Wanted`, with every weight once.

    Raises:
        ValueError: If TFA has no such attention.
    """
    if isinstance(target, AttentionDecoder):
        return wanted_by(target.cell)
    if isinstance(target, AbstractAttention):
        return Wanted([attention_slots(target)], {}, [])
    if isinstance(target, Seq2Seq):
        return _of_model(target)
    if not isinstance(target, AttentionDecoderCell):
        return Wanted([], {}, _units(target.weights))
    attentional = {
        "kernel": target.attention_kernel,
        "bias": target.attention_bias,
    }
    units = [
        one._replace(side="target")
        for cell in target.cells
        for one in _units(cell.weights)
    ]
    return Wanted(
        [attention_slots(layer) for layer in target.attentions],
        {k: Slot(x) for k, x in attentional.items() if x is not None},
        units,
    )


def attention_slots(layer: AbstractAttention) -> dict[str, Slot]:
    """Return the slots of an attention layer, by the fields of a mechanism.

    Args:
        layer: A built attention layer.

    Raises:
        ValueError: If TFA has no such attention.
    """
    if type(layer) is BahdanauAttention:
        found = {
            "query": layer.query_kernel,
            "memory": layer.key_kernel,
            "vector": layer.score_vector,
        }
        if layer.normalize:
            found |= {"gain": layer.gain, "bias": layer.bias}
    elif type(layer) is LuongGeneral:
        if layer.use_scale == "sqrt":
            raise ValueError(
                "load_tfa_weights needs scores that TFA has, which divides "
                "none by a root. Received: use_scale='sqrt'. Give "
                "LuongGeneral the use_scale that was TFA's `scale`."
            )
        found = {"memory": layer.kernel}
        if layer.use_scale:
            found["gain"] = layer.scale
    else:
        raise ValueError(
            "load_tfa_weights needs attentions that TFA has: "
            "BahdanauAttention or LuongGeneral, with the alignment 'softmax', "
            "Monotonic() or one of yours without weights. Received: "
            f"{type(layer).__name__}."
        )
    if isinstance(layer.aligner, Monotonic):
        found["score_bias"] = layer.aligner.score_bias
    slots = {field: Slot(weight) for field, weight in found.items()}
    if type(layer) is LuongGeneral:
        slots["memory"] = Slot(layer.kernel, np.transpose)
    known = {id(x) for x in found.values()}
    others = [x for x in layer.weights if id(x) not in known]
    return slots | {x.path: Slot(x) for x in others}


def _of_model(model: Seq2Seq) -> Wanted:
    """List what a model needs; an embedding takes the stored one, scaled."""
    root = math.sqrt(model.embedding_dim)
    decoder = wanted_by(model.decoder)
    units = [
        Unit({"embeddings": Slot(one.embeddings, lambda x: x / root)}, name)
        for name, one in (
            ("source", model.source_embedding),
            ("target", model.target_embedding),
        )
        if one is not None
    ]
    units += [
        one._replace(side="source") for one in _units(model.encoder.weights)
    ]
    units += decoder.units
    if isinstance(model.bridge, StateBridge):
        pairs = zip(model.bridge.kernels, model.bridge.biases, strict=True)
        units += [Unit({"kernel": Slot(k), "bias": Slot(b)}) for k, b in pairs]
    elif model.bridge is not None:
        units += _units(model.bridge.weights)
    if model.output_layer is not None:
        found = _units(model.output_layer.weights)
        units += [one._replace(side="target") for one in found]
    if model.copying:
        units += _units(model.pointer_generator.weights)
    if model.lexical:
        units += _units(model.lexical_translation.weights)
    return Wanted(decoder.attentions, decoder.attentional, units)


def _units(weights) -> list[Unit]:
    """Put the weights of one object together, norms with their cell."""
    units, owner = [], None
    for weight in weights:
        *parts, field = weight.path.split("/")
        if parts and parts[-1].endswith("_norm"):
            field = f"{parts.pop()}/{field}"
        if parts != owner or field in units[-1].slots:
            units.append(Unit({}, direction=direction(parts)))
            owner = parts
        units[-1].slots[field] = Slot(weight)
    return units


def direction(parts) -> str | None:
    """Return the direction of a recurrent layer that a name tells.

    Args:
        parts: The parts of a name.
    """
    for part in parts:
        for name in ("forward", "backward"):
            if base(part).startswith(f"{name}_"):
                return name
    return None
