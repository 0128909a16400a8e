"""What makes a training the same one when its command runs again."""

import json
import re
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import keras

from keras_attention.training.callback_states import known_arguments

# Names differ from one model to the next in a process; the others are shapes.
OMITTED = {"name", "build_config", "compile_config", "shared_object_id"}
_first_seen = weakref.WeakKeyDictionary()


def identify(model: keras.Model, arguments: dict[str, Any]) -> dict[str, str]:
    """Describe a training, so that two can be compared.

    Args:
        model: A compiled model.
        arguments: Those of `fit`, and what else decides what is computed.

    Returns:
        A text for each part that a user gives. A part that has no
        configuration says its class alone.
    """
    config = _quietly(model.get_compile_config)
    optimizer = _config(model.optimizer)
    return {
        "model": _text([type(model).__name__, _quietly(model.get_config)]),
        "optimizer": _text([type(model.optimizer).__name__, optimizer]),
        "loss or metrics": _text({**(config or {}), "optimizer": None}),
        "data, or an argument of fit,": _text(arguments),
    }


def identify_callback(callback: keras.callbacks.Callback) -> str:
    """Describe what a callback was made with, before it trained.

    Args:
        callback: Any callback. Those that are not of Keras or this package
            are all the same.
    """
    return _text(_first(callback, lambda: known_arguments(callback)))


def _config(optimizer):
    """Read what the optimizer was made with, before callbacks changed it."""
    return optimizer and _first(
        optimizer, lambda: _quietly(optimizer.get_config)
    )


def _first(thing, read: Callable):
    if thing not in _first_seen:
        _first_seen[thing] = read()
    return _first_seen[thing]


def _quietly(read: Callable):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of lambdas in it
            return read()
    except Exception:  # models need no `get_config` to train
        return None


def _text(config):
    text = json.dumps(_bare(config), sort_keys=True, default=_class_name)
    return re.sub(r'_\d+(?=")', "", text)  # "dense_1"


def _bare(config):
    if isinstance(config, list | tuple):
        return [_bare(x) for x in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "__lambda__":
        return "a function"
    return {str(k): _bare(v) for k, v in config.items() if k not in OMITTED}


def _class_name(thing):
    return getattr(thing, "__name__", type(thing).__name__)
