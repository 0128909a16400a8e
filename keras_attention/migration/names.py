"""The variable names of TFA and Keras 2, and what they mean."""

import dataclasses
import re
from collections.abc import Iterable
from typing import Any
from typing import NamedTuple

import numpy as np

SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"  # of a variable in a checkpoint
QUERY, MEMORY = "query_layer/kernel", "memory_layer/kernel"
SCALE, SCORE_BIAS = "attention_g", "attention_score_bias"
MECHANISM = {QUERY, MEMORY, "attention_v", SCALE, "attention_b", SCORE_BIAS}
LAYER = "attention_layer"
KERNEL, BIAS = f"{LAYER}/kernel", f"{LAYER}/bias"
ATTRIBUTES = {"scale_weight": SCALE}  # what a checkpoint calls it

# What a name tells: the side of the model, the direction, the kind of cell.
WORDS = (
    {
        "source": r"encoder|(^|_)enc(_|$)|source|src|bidirectional"
        "|^(for|back)ward",
        "target": r"decoder|(^|_)dec(_|$)|target|tgt|attention_wrapper"
        "|^_cell$|^output",
    },
    {"forward": "^forward_", "backward": "^backward_"},
    {"lstm": "lstm_cell$", "gru": "gru_cell$", "rnn": "simple_rnn_cell$"},
)
# The variables `vars/0`, `vars/1` ... of a `.weights.h5` file, by the last
# part of their layer's name, and by how many they are.
NUMBERED = {
    "bahdanau_attention": "attention_v attention_g attention_b",
    "bahdanau_monotonic_attention": (
        "attention_v attention_score_bias attention_g attention_b"
    ),
    "luong_attention": "attention_g",
    "luong_monotonic_attention/1": "attention_score_bias",
    "luong_monotonic_attention/2": "attention_g attention_score_bias",
    r"\w*(cell|lstm|gru|rnn)": "kernel recurrent_kernel bias",
    r"\w*embed\w*": "embeddings",
    r"\w*norm\w*": "gamma beta",
    r"\w*(dense|layer|output|logits|fc)": "kernel bias",
}


class Stored(NamedTuple):
    """A variable from a source.

    Attributes:
        names: Its names. The first name is for messages; the last name
            identifies best what the variable belongs to.
        value: Its value.
    """

    names: tuple[str, ...]
    value: np.ndarray

    @property
    def parts(self) -> tuple[str, ...]:
        """The components of the name that identifies its object."""
        return split_name(self.names[-1])

    @property
    def label(self) -> str:
        """The name for messages, with the shape."""
        return f"{self.names[0]} {self.value.shape}"


@dataclasses.dataclass(eq=False)
class Component:
    """An object with weights: a mechanism, a cell, an embedding or a layer.

    Attributes:
        fields: Its weights, by the names that TFA and Keras 2 give them.
        meaning: The result of `meaning_of` for its name.
        owner: The components of its name in a source.
    """

    fields: dict[Any, Any]
    meaning: tuple = (None, None, None)
    owner: tuple[str, ...] = ()


def split_name(name: str) -> tuple[str, ...]:
    """Split a variable name into its components.

    Args:
        name: A name such as `"model/lstm/kernel:0"`.

    Returns:
        The components, without the output number.
    """
    name = re.sub(r":\d+$", "", name.removesuffix(SUFFIX))
    return tuple(part for part in name.split("/") if part) or ("",)


def base(part: str) -> str:
    """Remove the counter from a name component: `"dense"` for `"dense_2"`.

    Args:
        part: A component, such as `"dense_2"`.
    """
    return re.sub(r"_\d+$", "", part)


def natural(parts: Iterable[str]) -> list:
    """Return a sort key by number: `"cell_2"` before `"cell_10"`.

    Args:
        parts: The components of a name.
    """
    pieces = re.split(r"(\d+)", "/".join(parts))  # text, number, text, ...
    return [int(x) if i % 2 else x for i, x in enumerate(pieces)]


def meaning_of(parts: Iterable[str]) -> tuple[str | None, ...]:
    """Return the side, direction and kind of cell that a name indicates.

    Args:
        parts: The components of the name. The last one that indicates
            something counts.

    Returns:
        `"source"` or `"target"`, `"forward"` or `"backward"`, and `"lstm"`,
        `"gru"` or `"rnn"`; `None` for what the name does not indicate.
    """
    found = [None] * len(WORDS)
    for part in parts:
        for i, words in enumerate(WORDS):
            part = base(part).lower()
            told = [k for k, x in words.items() if re.search(x, part)]
            if len(told) == 1:  # not `encoder_decoder`
                found[i] = told[0]
    return tuple(found)


def own_name(parts: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Split a variable name into the object's name and the variable's own name.

    Args:
        parts: The components of the name.

    Returns:
        The components of the object's name, and the variable's own name.
        Variables of normalization layers and of the layers of a mechanism
        have two components.
    """
    *owner, name = parts
    name = ATTRIBUTES.get(name, name)
    holder = base(owner[-1]) if owner else ""
    if holder.endswith("_norm") or f"{holder}/{name}" in MECHANISM:
        return tuple(owner[:-1]), f"{holder}/{name}"
    return tuple(owner), name


def components_of(
    variables: list[Stored], everything: Iterable[Stored] = ()
) -> list[Component]:
    """Group the variables of each object.

    The variables of a mechanism share the last component of the object's
    name, or the last two if the last is a number. The scopes before it
    differ: the query kernel is in the scope of the wrapper, and the memory
    kernel in the scope where the memory was set.

    Args:
        variables: The variables to group.
        everything: All variables of the source. If `variables` has no
            memories of the mechanisms, those outside of any wrapper are used.

    Returns:
        The objects, in the order of the source. A name that occurs twice in
        one of them becomes a number, which matches no weight of the target.
    """
    named = [(x, *own_name(x.parts)) for x in variables]
    mechanisms = {_mechanism(owner) for _, owner, x in named if x in MECHANISM}
    ready = {_mechanism(owner) for _, owner, x in named if x == MEMORY}
    waiting = mechanisms - ready
    for x in everything:
        owner, name = own_name(x.parts)
        inside = "attention_wrapper" in map(base, owner)
        fits = _mechanism(owner) in waiting or not mechanisms
        if name == MEMORY and fits and not inside:
            named.append((x, owner, name))
    found = {}
    for x, owner, name in named:
        if name == "kernel" and _mechanism(owner) in mechanisms:
            name = QUERY  # in the mechanism's own scope
        if name in MECHANISM:
            owner = _mechanism(owner)
        elif _is_attentional(owner):
            name = f"{LAYER}/{name}"
        fields = found.setdefault(owner, {})
        fields[len(fields) if name in fields else name] = x
    return [
        Component(x, meaning_of(owner), owner) for owner, x in found.items()
    ]


def _mechanism(owner):
    return owner[-2:] if owner and owner[-1].isdigit() else owner[-1:]


def _is_attentional(owner):
    """Return whether an object is the attentional layer of a wrapper."""
    *_, scope, name = ("", "", *map(base, owner))
    if name == LAYER or scope == "_attention_layers":
        return True
    return scope == "attention_wrapper" and name.endswith(("dense", "layer"))


def in_order(found: list[Component]) -> list[Component] | None:
    """Sort objects by the counters in their names.

    Args:
        found: Objects of a source.

    Returns:
        The sorted objects; `None` if their names differ in more than
        counters, so that they have no order.
    """
    names = {tuple(re.sub(r"_?\d+$", "", x) for x in c.owner) for c in found}
    if len(names) > 1:
        return None
    return sorted(found, key=lambda component: natural(component.owner))
