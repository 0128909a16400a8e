"""The weights of a target, and what each takes of a TFA program."""

import math
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
from keras_attention.migration.stored import base
from keras_attention.migration.stored import told
from keras_attention.models import Seq2Seq


class Slot(NamedTuple):
    """A weight of ours.

    Attributes:
        weight: The Keras variable.
        divisor: What the stored value is divided by.
        transposed: Whether the stored value is transposed.
    """

    weight: Any
    divisor: float = 1.0
    transposed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the stored value must have."""
        return tuple(self.weight.shape)[:: -1 if self.transposed else 1]

    def assign(self, value: np.ndarray):
        """Give the weight the stored value."""
        value = value.T if self.transposed else value
        self.weight.assign(value / self.divisor)


class Unit(NamedTuple):
    """An object of ours with weights, such as a cell or an embedding.

    Attributes:
        slots: Its weights, by the names that Keras or TFA gives them.
        told: Its side, `"source"` or `"target"`, and its direction,
            `"forward"` or `"backward"`; `None` for neither.
    """

    slots: dict[str, Slot]
    told: tuple[str | None, str | None] = (None, None)


class Wanted(NamedTuple):
    """All that a target needs.

    Attributes:
        attentions: Each attention, with the fields of a mechanism.
        attentional: The attentional layer, if there is one.
        units: All other objects, in their order.
    """

    attentions: list[Unit]
    attentional: list[Unit]
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
        return Wanted([_attention(target)], [], [])
    if isinstance(target, Seq2Seq):
        return _of_model(target)
    if not isinstance(target, AttentionDecoderCell):
        return Wanted([], [], _units(target.weights))
    layer = {"kernel": target.attention_kernel, "bias": target.attention_bias}
    slots = {k: Slot(x) for k, x in layer.items() if x is not None}
    return Wanted(
        [_attention(layer) for layer in target.attentions],
        [Unit(slots)] if slots else [],
        [x for cell in target.cells for x in _units(cell.weights, "target")],
    )


def _attention(layer: AbstractAttention) -> Unit:
    """Give the weights of an attention the fields of a mechanism."""
    if type(layer) is BahdanauAttention:
        slots = {
            "query": Slot(layer.query_kernel),
            "memory": Slot(layer.key_kernel),
            "vector": Slot(layer.score_vector),
        }
        if layer.normalize:
            slots |= {"gain": Slot(layer.gain), "bias": Slot(layer.bias)}
    elif type(layer) is LuongGeneral:
        if layer.use_scale == "sqrt":
            raise ValueError(
                "load_tfa_weights needs scores that TFA has, which divides "
                "none by a root. Received: use_scale='sqrt'. Give "
                "LuongGeneral the use_scale that was TFA's `scale`."
            )
        slots = {"memory": Slot(layer.kernel, transposed=True)}
        if layer.use_scale:
            slots["gain"] = Slot(layer.scale)
    else:
        raise ValueError(
            "load_tfa_weights needs attentions that TFA has: "
            "BahdanauAttention or LuongGeneral, with the alignment 'softmax', "
            "Monotonic() or one of yours without weights. Received: "
            f"{type(layer).__name__}."
        )
    if isinstance(layer.aligner, Monotonic):
        slots["score_bias"] = Slot(layer.aligner.score_bias)
    known = {id(x.weight) for x in slots.values()}
    others = [x for x in layer.weights if id(x) not in known]
    return Unit(slots | {x.path: Slot(x) for x in others})


def _of_model(model: Seq2Seq) -> Wanted:
    """List what a model needs; an embedding takes the stored one, scaled."""
    root = math.sqrt(model.embedding_dim)
    source, target = model.source_embedding, model.target_embedding
    sides = {id(source): "source", id(model.encoder): "source"}
    sides[id(model.bridge)] = None
    decoder = wanted_by(model.decoder)
    known = {id(x) for x in model.decoder.weights}
    units = []
    for layer in model.layers:
        new = [x for x in layer.weights if id(x) not in known]
        known.update(map(id, new))  # once, whatever shares it
        side = sides.get(id(layer), "target")
        if layer is model.decoder:
            units += decoder.units
        elif layer in (source, target):
            units += _units(new, side, root)
        else:
            units += _units(new, side)
    return decoder._replace(units=units)


def _units(
    weights, side: str | None = None, divisor: float = 1.0
) -> list[Unit]:
    """Put the weights of one object together, norms with their cell."""
    units, owner = [], None
    for weight in weights:
        *parts, field = weight.path.split("/")
        if parts and parts[-1].endswith("_norm"):
            field = f"{parts.pop()}/{field}"
        name = base(field)  # `kernel_1` of a bridge is that of a second layer
        parts.append(field.removeprefix(name))
        if parts != owner or name in units[-1].slots:
            units.append(Unit({}, (side, told(parts)[1])))
            owner = parts
        units[-1].slots[name] = Slot(weight, divisor)
    return units
