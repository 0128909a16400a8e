"""What makes two calls the same training: each part as a short text."""

import functools
import hashlib
import inspect
import json
import re
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_attention.backend import backend
from keras_attention.resume.file import ALONE
from keras_attention.resume.file import pack

# Names differ from one model to the next in a process; the others are shapes.
OMITTED = {"name", "build_config", "compile_config", "shared_object_id"}
FREE = {"self", "epochs", "verbose", "callbacks"}  # arguments that may differ
PLACES = ("dir", "file", "folder", "path")  # in names of arguments
DEPTH = 4  # of objects in objects that are looked at
COMPOUND = list | tuple | functools.partial | types.CodeType  # not counted
KNOWN = ("keras.", "keras_attention.")  # whose callbacks say all they do
_first_seen = weakref.WeakKeyDictionary()


def identify(model: keras.Model, call: dict[str, Any]) -> dict[str, str]:
    """Describe a training, so that two can be compared.

    Args:
        model: A compiled model.
        call: All arguments of `fit`, by name.

    Returns:
        A text for each part that a user gives.
    """
    optimizer, compiled = model.optimizer, _quietly(model.get_compile_config)
    made = optimizer and _first(optimizer, _made)
    callbacks = [x for x in as_list(call["callbacks"]) if is_known(x)]
    parts = {
        "backend": backend.name,
        "model": [_name(model), _quietly(model.get_config)],
        "optimizer": [_name(optimizer), made],
        "loss": describe(model.loss),
        "loss or metrics": {**(compiled or {}), "optimizer": None},
        "callbacks": [_first(x, _arguments) for x in callbacks],
        **{k: describe(v) for k, v in call.items() if k not in FREE},
    }
    return {name: _text(part) for name, part in parts.items()}


def as_list(callbacks: Any) -> list[keras.callbacks.Callback]:
    """List the callbacks that `fit` was given."""
    if isinstance(callbacks, keras.callbacks.CallbackList):
        return callbacks.callbacks
    return keras.tree.flatten(callbacks) if callbacks else []


def is_known(callback: keras.callbacks.Callback) -> bool:
    """Return whether a callback is one of Keras or of this package."""
    return type(callback).__module__.startswith(KNOWN)


def digest(value: Any) -> str:
    """Return a text that differs if a plain value differs.

    Raises:
        TypeError: If the value is not plain.
    """
    arrays = []
    text = json.dumps(pack(value, arrays))
    content = hashlib.sha256(text.encode())
    for array in arrays:
        content.update(str(array.shape).encode())
        content.update(np.ascontiguousarray(array).reshape(-1).view("u1"))
    return content.hexdigest()


def describe(value: Any, depth: int = DEPTH) -> Any:
    """Describe a value by its content, as far as it shows it.

    Args:
        value: Arrays are described by their numbers, functions by their code,
            datasets of this package by their text, other datasets by shapes
            and their number of batches, and other objects by their class and
            attributes.
        depth: How many objects in one another are looked at.

    Returns:
        What JSON knows.
    """
    content = getattr(getattr(value, "position", None), "content", None)
    if content is not None:
        return content
    if isinstance(value, keras.Variable | keras.Layer | type):
        return _name(value)
    try:
        return digest(_as_plain(value))
    except Exception:  # not plain; tensors of other kinds may raise any
        inner = functools.partial(describe, depth=depth - 1)
    if isinstance(value, dict):
        return [[inner(k), inner(v)] for k, v in value.items()]
    if isinstance(value, frozenset):
        return sorted(json.dumps(inner(x)) for x in value)
    if depth <= 0 and not isinstance(value, COMPOUND):
        return _name(value)
    return [_name(value), *map(inner, _parts(value))]


def _parts(value):
    """List what a value is made of."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, types.CodeType):
        return value.co_code.hex(), value.co_names, value.co_consts
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if hasattr(value, "element_spec"):
        return str(value.element_spec), cardinality(value)
    if inspect.ismethod(value):
        return value.__func__, value.__self__
    function = inspect.unwrap(value) if callable(value) else value
    if hasattr(function, "__code__"):
        given = function.__defaults__, function.__kwdefaults__
        return function.__code__, _used(function), *given
    methods = [
        x for x in type(value).__dict__.values() if inspect.isfunction(x)
    ]
    attributes = getattr(value, "__dict__", {}).items()
    kept = {k: v for k, v in attributes if k.lstrip("_") not in OMITTED}
    return *methods, kept


def _used(function):
    """Keep what a function takes from around it, and from its file."""
    found = inspect.getclosurevars(function)
    plain = {
        name: x
        for name, x in found.globals.items()
        if type(x) in ALONE
        or (inspect.isfunction(x) and x.__module__ == function.__module__)
    }
    return {**found.nonlocals, **plain}


def cardinality(data: Any) -> int | None:
    """Return the number of batches of a dataset, or `None` if unknown."""
    if isinstance(data, keras.utils.PyDataset):
        return data.num_batches
    try:
        count = int(getattr(data, "cardinality", data.__len__)())
    except (AttributeError, TypeError):  # a generator, or of several devices
        return None
    return count if count >= 0 else None


def _as_plain(value):
    if keras.ops.is_tensor(value) or not hasattr(value, "__array__"):
        return value
    value = np.asarray(value)
    return value.tolist() if value.dtype == object else value


def _name(value):
    return getattr(value, "__qualname__", type(value).__qualname__)


def _arguments(callback):
    names = inspect.signature(type(callback).__init__).parameters
    values = {
        name: getattr(callback, name, None)
        for name in names
        if name != "verbose" and not any(place in name for place in PLACES)
    }
    return [_name(callback), describe(values, depth=2)]


def _made(optimizer):
    """Read what a config does not tell: a schedule that is a function."""
    rate = float(np.asarray(optimizer.learning_rate))
    return _quietly(optimizer.get_config), rate


def _first(thing, read: Callable):
    """Read what a thing was made with, before a training changed it."""
    if thing not in _first_seen:
        _first_seen[thing] = read(thing)
    return _first_seen[thing]


def _quietly(read: Callable):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of lambdas in it
            return read()
    except Exception:  # models need no `get_config` to train
        return None


def _text(config):
    """Return a text that does not tell the names of one model from another."""
    text = json.dumps(config, default=_name)
    text = json.dumps(json.loads(text, object_hook=_bare), sort_keys=True)
    return digest(re.sub(r'_\d+(?=")', "", text))  # "dense_1"


def _bare(config):
    if config.get("class_name") == "__lambda__":
        return "a function"
    return {k: v for k, v in config.items() if k not in OMITTED}
