"""Functions of `keras.ops` that steps call often, by torch's own functions.

On torch, each operation runs when Python calls it. Keras' functions first look
for symbolic tensors in all that they are given, which takes as long as a small
operation, and as several of them for a shape. Layers never get symbolic tensors
here: where Keras infers shapes, it calls them with tensors of no device.

Given something other than tensors, each function is that of Keras.
"""

import types
from collections.abc import Callable

import keras
import torch
from torch import Tensor

NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"
DTYPES = {name: getattr(torch, name) for name in NAMES.split()}
WIDE = torch.float32, torch.float64


def _is_tensor_of(x, dtypes) -> bool:
    return isinstance(x, Tensor) and x.dtype in dtypes


def _are_operands(x1, x2) -> bool:
    """Return whether both are tensors, or one of them of numbers and a number.

    Keras and torch choose other integers for `True + 1`.
    """
    if not isinstance(x1, Tensor):
        x1, x2 = x2, x1
    is_number = isinstance(x2, int | float) and not isinstance(x2, bool)
    return isinstance(x1, Tensor) and (
        isinstance(x2, Tensor) or (is_number and x1.dtype != torch.bool)
    )


def logical_and(x1, x2):
    """Combine as `keras.ops.logical_and`."""
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        return torch.logical_and(x1, x2)
    return keras.ops.logical_and(x1, x2)


def _of_one(name: str, plain: Callable, dtypes=None) -> Callable:
    slow = getattr(keras.ops, name)
    dtypes = dtypes or DTYPES.values()

    def function(x, *arguments, **options):
        if not (arguments or options) and _is_tensor_of(x, dtypes):
            return plain(x)
        return slow(x, *arguments, **options)

    return function


def _of_two(name: str, plain: Callable) -> Callable:
    slow = getattr(keras.ops, name)

    def function(x1, x2):
        return plain(x1, x2) if _are_operands(x1, x2) else slow(x1, x2)

    return function


def _of_list(name: str, plain: Callable) -> Callable:
    slow = getattr(keras.ops, name)

    def function(xs, axis=0):
        xs = list(xs)
        if all(isinstance(x, Tensor) for x in xs):
            return plain(xs, axis)
        return slow(xs, axis)

    return function


def _along_axis(name: str, plain: Callable) -> Callable:
    slow = getattr(keras.ops, name)

    def function(x, axis=-1):
        if isinstance(axis, int) and _is_tensor_of(x, WIDE):
            return plain(x, axis)
        return slow(x, axis)

    return function


def cast(x, dtype):
    """Cast as `keras.ops.cast`."""
    to = DTYPES.get(dtype, dtype)
    if isinstance(x, Tensor) and isinstance(to, torch.dtype):
        return x.to(to)
    return keras.ops.cast(x, dtype)


def shape(x):
    """Return the shape as `keras.ops.shape`."""
    return tuple(x.shape) if isinstance(x, Tensor) else keras.ops.shape(x)


def where(condition, x1=None, x2=None):
    """Choose as `keras.ops.where`."""
    if _is_tensor_of(condition, [torch.bool]) and _are_operands(x1, x2):
        return torch.where(condition, x1, x2)
    return keras.ops.where(condition, x1, x2)


def reshape(x, newshape):
    """Reshape as `keras.ops.reshape`."""
    if isinstance(x, Tensor):
        return x.reshape(newshape)
    return keras.ops.reshape(x, newshape)


def expand_dims(x, axis):
    """Add an axis as `keras.ops.expand_dims`."""
    if isinstance(x, Tensor) and isinstance(axis, int):
        return x.unsqueeze(axis)
    return keras.ops.expand_dims(x, axis)


def squeeze(x, axis=None):
    """Remove an axis as `keras.ops.squeeze`."""
    if isinstance(x, Tensor) and isinstance(axis, int):
        return x.squeeze(axis)
    return keras.ops.squeeze(x, axis)


def swapaxes(x, axis1, axis2):
    """Swap axes as `keras.ops.swapaxes`."""
    if isinstance(x, Tensor):
        return x.transpose(axis1, axis2)
    return keras.ops.swapaxes(x, axis1, axis2)


def split(x, indices_or_sections, axis=0):
    """Split as `keras.ops.split`."""
    count = indices_or_sections
    if isinstance(x, Tensor) and isinstance(count, int):
        size, rest = divmod(x.shape[axis], count)
        if size and not rest:
            return list(x.split(size, axis))
    return keras.ops.split(x, count, axis)


def top_k(x, k, sorted=True):
    """Find the largest as `keras.ops.top_k`."""
    if isinstance(x, Tensor):
        return torch.topk(x, k, sorted=sorted)
    return keras.ops.top_k(x, k, sorted)


def sum(x, axis=None, keepdims=False):
    """Sum as `keras.ops.sum`."""
    if isinstance(axis, int) and _is_tensor_of(x, WIDE):
        return x.sum(axis, keepdim=keepdims)
    return keras.ops.sum(x, axis, keepdims)


OWN = {
    "add": _of_two("add", torch.add),
    "any": _of_one("any", torch.any, [torch.bool]),
    "cast": cast,
    "concatenate": _of_list("concatenate", torch.cat),
    "equal": _of_two("equal", lambda x, y: x == y),
    "exp": _of_one("exp", torch.exp, WIDE),
    "expand_dims": expand_dims,
    "greater": _of_two("greater", lambda x, y: x > y),
    "is_tensor": lambda x: isinstance(x, Tensor),
    "log": _of_one("log", torch.log, WIDE),
    "log_softmax": _along_axis("log_softmax", torch.log_softmax),
    "logical_and": logical_and,
    "not_equal": _of_two("not_equal", lambda x, y: x != y),
    "reshape": reshape,
    "shape": shape,
    "sigmoid": _of_one("sigmoid", torch.sigmoid, WIDE),
    "softmax": _along_axis("softmax", torch.softmax),
    "split": split,
    "squeeze": squeeze,
    "stack": _of_list("stack", torch.stack),
    "sum": sum,
    "swapaxes": swapaxes,
    "tanh": _of_one("tanh", torch.tanh, WIDE),
    "top_k": top_k,
    "where": where,
    "zeros_like": _of_one("zeros_like", torch.zeros_like),
}
of_keras = {name: getattr(keras.ops, name) for name in dir(keras.ops)}
ops = types.SimpleNamespace(**of_keras | OWN)
