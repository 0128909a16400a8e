"""The base of layers that accept only dense inputs."""

import inspect
import numbers
from typing import Any

import keras

from keras_attention.arrays import PAD
from keras_attention.arrays import check_dense
from keras_attention.layers.order import mask_in_order


class AbstractDenseLayer(keras.layers.Layer):
    """Raises an error for ragged and sparse inputs, before Keras builds.

    In a functional model, the mask of a sequence is put in the order of the
    sequence; see `reversed_by`.

    Attributes:
        keeps_order: Whether the result is in the order of the first argument,
            whose mask it carries.
    """

    keeps_order = True

    def __call__(self, *args, **kwargs):
        parameters = inspect.signature(self.call).parameters
        names = list(parameters)
        masks = [f"`{name}`" for name in names if name.endswith("mask")]
        real = f"Pass {' and '.join(masks)}, which is True at valid positions."
        way_out = f"{PAD} {real if masks else 'Ids of 0 are masked.'}"
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        self._check_names(given, parameters.values())
        for name, value in given.items():
            for x in tensors_of(value):
                needed_by = f"{type(self).__name__} needs tensors"
                check_dense(needed_by, name, x, way_out)
        for name, value in [*given.items()]:
            own = f"{name}_mask"
            own = "mask" if name == names[0] and own not in names else own
            if own in names and given.get(own) is None:
                mask = mask_in_order(value)
                given |= {} if mask is None else {own: mask}
        args = [given.pop(name) for name in names[: len(args)]]
        return super().__call__(*args, **given)

    def _check_names(self, given, parameters):
        needed = [
            x.name
            for x in parameters
            if x.default is x.empty
            and x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)
        ]
        missing = [name for name in needed if given.get(name) is None]
        if missing:
            got = ", ".join(
                f"{name}=a list of {len(value)}"
                if isinstance(value, list | tuple)
                else name + ("=None" if value is None else "")
                for name, value in given.items()
            )
            raise TypeError(
                f"{type(self).__name__} needs `{missing[0]}`. Received: "
                f"{got or 'nothing'}. Call it as "
                f"layer({', '.join(needed)}), not with a list."
            )
        names = [x.name for x in parameters]
        masks = [name for name in names if name.endswith("_mask")]
        takes_all = any(x.kind == x.VAR_KEYWORD for x in parameters)
        if masks and "mask" in given and not ("mask" in names or takes_all):
            raise TypeError(
                f"{type(self).__name__} takes no `mask`. Received: mask. "
                f"Give {', '.join(masks)} in its place."
            )


def tensors_of(x: Any) -> list:
    """List the tensors of a structure; a list of numbers counts as one."""
    leaves = keras.tree.flatten(x)
    if all(isinstance(leaf, numbers.Number) for leaf in leaves):
        return [x]
    is_list = isinstance(x, list | tuple)
    return [z for y in x for z in tensors_of(y)] if is_list else leaves
