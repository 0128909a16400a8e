"""One attentional layer of those that TFA has, one for each mechanism."""

import numpy as np

from keras_attention.migration.groups import Group
from keras_attention.migration.slots import Slot
from keras_attention.migration.stored import Stored


def join_layers(
    layers: list[Group], count: int, slots: dict[str, Slot]
) -> tuple[Group | None, list[Group]]:
    """Join the attentional layers of several mechanisms to one.

    Formula:

        [[s; c1] A, [s; c2] B] = [s; c1; c2] [[As, Bs], [Ac, 0], [0, Bc]]

    with the rows `As` of `A` for the state and `Ac` for the context.

    Args:
        layers: The layers of all mechanisms, in their order.
        count: How many mechanisms the target has.
        slots: Slots of the target's layer.

    Returns:
        The layer, or `None` if there is none or they cannot be joined, and
        those that were not used.
    """
    if count < 2 or len(layers) < 2:
        return (layers[0] if layers else None), layers[1:]
    kernels = [one.fields.get("kernel") for one in layers]
    if len(layers) != count or None in kernels:
        return None, layers
    size, odd = divmod(
        slots["kernel"].shape[0] - kernels[0].value.shape[0], count - 1
    )
    state = kernels[0].value.shape[0] - size
    if odd or len({x.value.shape[0] for x in kernels}) > 1 or state < 1:
        return None, layers
    fields = {"kernel": _joined(kernels, _blocks(kernels, state, size))}
    biases = [one.fields["bias"] for one in layers if "bias" in one.fields]
    if biases:
        fields["bias"] = _joined(
            biases, np.concatenate([x.value for x in biases])
        )
    return Group(layers[0].owner, fields), []


def _blocks(kernels, state: int, size: int) -> np.ndarray:
    """Put the kernels side by side, each in the rows of its context."""
    columns = []
    for i, stored in enumerate(kernels):
        kernel = stored.value
        before = np.zeros((i * size, kernel.shape[1]), kernel.dtype)
        after = np.zeros(((len(kernels) - 1 - i) * size, kernel.shape[1]))
        columns.append(
            np.concatenate([kernel[:state], before, kernel[state:], after])
        )
    return np.concatenate(columns, axis=1)


def _joined(variables: list[Stored], value: np.ndarray) -> Stored:
    names = " + ".join(x.names[0] for x in variables)
    return Stored((names,), value)
