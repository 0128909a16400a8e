"""What a training step reads and changes: variables, random generators."""

import random
import sys
from typing import Any

import keras
import numpy as np

GROUPS = ("model", "optimizer", "metrics")


def read_variables(model: keras.Model) -> dict[str, list] | None:
    """Read all variables of a model in training, in groups.

    The random generators of layers are among those of the model.

    Returns:
        Arrays, or `None` if the model or its optimizer has none yet.
    """
    groups = _variables(model)
    waits = groups["model"] and model.optimizer and not model.optimizer.built
    if not model.built or waits:
        return None
    return {
        name: [keras.ops.convert_to_numpy(x) for x in group]
        for name, group in groups.items()
    }


def set_variables(
    model: keras.Model, values: dict[str, list], groups: tuple[str, ...]
):
    """Put back the values of variables.

    Args:
        model: The model.
        values: What `read_variables` returned.
        groups: Which of them.

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


def has_variables(model: keras.Model, values: dict[str, list]) -> bool:
    """Return whether a model has made as many variables as were read."""
    return len(_variables(model)["model"]) == len(values["model"])


def random_states() -> dict[str, Any]:
    """Read the states of the generators of Python, NumPy and torch."""
    states = {"python": random.getstate(), "numpy": np.random.get_state()}
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().numpy()
    return states


def set_random_states(states: dict[str, Any]):
    """Set these generators to states that were read before."""
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
