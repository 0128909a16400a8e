"""Describe a training as short texts, to recognize it."""

import contextlib
import hashlib
import json
import re
import warnings
import weakref
from typing import Any

import keras
import numpy as np

from keras_attention.backend import backend
from keras_attention.resume.file import pack

# Names differ from one model to the next in a process; the others are shapes.
OMITTED = {"name", "build_config", "compile_config", "shared_object_id"}
FREE = {"self", "epochs", "verbose", "callbacks"}  # arguments that may differ
_optimizers = weakref.WeakKeyDictionary()  # as they were before a training


def identify(model: keras.Model, call: dict[str, Any]) -> dict[str, str]:
    """Describe a training by its configs and arguments, for comparison.

    Args:
        model: A compiled model.
        call: All arguments of `fit` by name.

    Returns:
        A text for each object and argument that the user passes.
    """
    optimizer, compiled = model.optimizer, _quietly(model.get_compile_config)
    if optimizer and optimizer not in _optimizers:
        rate = float(np.asarray(optimizer.learning_rate))  # of a function too
        _optimizers[optimizer] = _quietly(optimizer.get_config), rate
    parts = {
        "backend": backend.name,
        "model": [_name(model), _quietly(model.get_config)],
        "optimizer": [_name(optimizer), optimizer and _optimizers[optimizer]],
        "loss": _describe(model.loss),
        "loss or metrics": {**(compiled or {}), "optimizer": None},
        **{k: _describe(v) for k, v in call.items() if k not in FREE},
    }
    return {name: _text(part) for name, part in parts.items()}


def digest(value: Any) -> str:
    """Return a text that identifies a plain value.

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


def cardinality(data: Any) -> int | None:
    """Return the number of batches of a dataset, or `None` if unknown."""
    if isinstance(data, keras.utils.PyDataset):
        return data.num_batches
    try:
        count = int(getattr(data, "cardinality", data.__len__)())
    except (AttributeError, TypeError):  # a generator, or of several devices
        return None
    return count if count >= 0 else None


def _describe(value):
    """Describe plain values, arrays and text by content, others by type."""
    content = getattr(getattr(value, "position", None), "content", None)
    if content is not None:
        return content
    if hasattr(value, "__array__") and not keras.ops.is_tensor(value):
        value = np.asarray(value)  # such as a table of pandas
        value = value.tolist() if value.dtype == object else value
    with contextlib.suppress(Exception):  # tensors of other kinds raise any
        return digest(value)
    if isinstance(value, dict):
        return [[k, _describe(v)] for k, v in value.items()]
    if isinstance(value, list | tuple):
        return [_name(value), *map(_describe, value)]
    if hasattr(value, "get_config"):
        return [_name(value), _quietly(value.get_config)]
    spec = getattr(value, "element_spec", None)
    return [_name(value), str(spec), cardinality(value)]


def _name(value):
    return getattr(value, "__qualname__", type(value).__qualname__)


def _quietly(read):
    with contextlib.suppress(Exception):  # models train without a config
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of lambdas in it
            return read()
    return None


def _text(config):
    """Return a text without names that differ between equal models."""
    text = json.dumps(config, default=_name)
    text = json.dumps(json.loads(text, object_hook=_bare), sort_keys=True)
    return digest(re.sub(r'_\d+(?=")', "", text))  # "dense_1"


def _bare(config):
    if config.get("class_name") == "__lambda__":
        return "a function"
    return {k: v for k, v in config.items() if k not in OMITTED}
