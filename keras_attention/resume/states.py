"""The state of a training: variables, random generators, callbacks."""

import random
import sys
import warnings
from typing import Any

import keras
import numpy as np

from keras_attention.resume.identity import digest

KNOWN = ("keras.", "keras_attention.")  # callbacks that need no warning
SET_BY_KERAS = {"params", "_model", "model"}


def read_variables(model: keras.Model) -> dict[str, list] | None:
    """Read all variables of a model in training, in groups.

    The variables of the model include the random generators of layers.

    Returns:
        Arrays, or `None` if the model or its optimizer has no variables yet.
    """
    groups = _variables(model)
    waits = groups["model"] and model.optimizer and not model.optimizer.built
    if not model.built or waits:
        return None
    return {name: [*map(np.asarray, group)] for name, group in groups.items()}


def set_variables(
    model: keras.Model, values: dict[str, list], groups: list[str]
):
    """Restore the values of variables.

    Args:
        model: The model.
        values: The result of `read_variables`.
        groups: The groups to restore.

    Raises:
        ValueError: If the model has other variables.
    """
    if "optimizer" in groups and model.optimizer and not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    variables = _variables(model)
    for name in groups:
        shapes = [tuple(x.shape) for x in variables[name]]
        if shapes != [x.shape for x in values[name]]:
            raise ValueError(f"the variables of its {name} differ")
        for variable, value in zip(variables[name], values[name], strict=True):
            variable.assign(value)


def random_states() -> dict[str, Any]:
    """Read the states of the generators of Python, NumPy and torch."""
    states = {"python": random.getstate(), "numpy": np.random.get_state()}
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().numpy()
    return states


def set_random_states(states: dict[str, Any]):
    """Restore the states of these generators."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch = sys.modules.get("torch")
    if torch is not None and "torch" in states:
        torch.set_rng_state(torch.from_numpy(states["torch"]))


def _variables(model):
    return {
        "model": model.variables,
        "optimizer": model.optimizer.variables if model.optimizer else [],
        "metrics": model.metrics_variables,
    }


class KeptCallbacks:
    """Reads and restores the states of callbacks.

    Attributes are saved if they are plain values or generators of Keras.
    Attributes that have not changed since training began are omitted, because
    the user sets them.

    Args:
        callbacks: The callbacks, after their `on_train_begin`.
    """

    def __init__(self, callbacks: list[keras.callbacks.Callback]):
        self.callbacks = callbacks
        self.begun_with = [_marks(x) for x in callbacks]
        self.warned = set()  # callbacks of which a warning was given

    def read(self) -> list[dict[str, Any]]:
        """Read the state of each callback.

        It warns once per attribute that cannot be saved.
        """
        states = []
        for callback, before in zip(
            self.callbacks, self.begun_with, strict=True
        ):
            changed = _marks(callback).items() - before.items()
            values = {
                name: _readable(getattr(callback, name))
                for name, mark in changed
                if isinstance(mark, str)
            }
            self._warn(callback, dict(changed).keys() - values.keys())
            kind = type(callback).__name__
            states.append({"class": kind, "values": values})
        return states

    def _warn(self, callback, lost):
        """Warn about lost attributes, except those that Keras creates again."""
        own = not type(callback).__module__.startswith(KNOWN)
        if lost and own and callback not in self.warned:
            self.warned.add(callback)
            kind = type(callback).__name__
            warnings.warn(
                "resumable_fit cannot save "
                f"{', '.join(f'{kind}.{name}' for name in sorted(lost))}: a "
                "resumed training starts without these values. Use numbers, "
                "strings and arrays, or lists and dictionaries of them.",
                stacklevel=2,
            )

    def put_back(self, states: list[dict[str, Any]]):
        """Restore each callback from the first state of its class.

        Args:
            states: The result of `read`, possibly from another process.
        """
        left = list(self.callbacks)
        for state in states:
            same = [x for x in left if type(x).__name__ == state["class"]]
            for callback in same[:1]:
                left = [x for x in left if x is not callback]
                for name, value in state["values"].items():
                    now = getattr(callback, name, None)
                    if isinstance(now, keras.random.SeedGenerator):
                        now.state.assign(value)
                    else:
                        setattr(callback, name, value)


def _marks(callback):
    """Return a value per attribute that changes when the attribute changes.

    It is a text for attributes that can be saved.
    """
    marks = {}
    for name, value in callback.__dict__.items():
        if name not in SET_BY_KERAS:
            try:
                marks[name] = digest(_readable(value))
            except (TypeError, RecursionError):
                size = len(value) if hasattr(value, "__len__") else 0
                marks[name] = id(value), size
    return marks


def _readable(value):
    is_seed = isinstance(value, keras.random.SeedGenerator)
    return np.asarray(value.state) if is_seed else value
