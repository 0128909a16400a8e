"""The variables of a model in training: read, made and put back."""

from typing import Any

import keras

GROUPS = ("model", "optimizer", "metrics")


def groups_of(model: keras.Model) -> dict[str, list]:
    """List all variables of a model in training, in groups.

    Random generators of layers are among those of the model.
    """
    optimizer = model.optimizer
    return {
        "model": model.variables,
        "optimizer": [] if optimizer is None else optimizer.variables,
        "metrics": model.metrics_variables,
    }


def is_ready(model: keras.Model) -> bool:
    """Return whether a model and its optimizer have their variables."""
    return model.built and not _lacks_slots(model)


def read_variables(model: keras.Model) -> dict[str, Any]:
    """Read all variables, with their names.

    Args:
        model: A model that is ready.

    Returns:
        Plain values.
    """
    groups = groups_of(model)
    return {
        "signature": {name: _signature(groups[name]) for name in GROUPS},
        "values": {
            name: [keras.ops.convert_to_numpy(v) for v in groups[name]]
            for name in GROUPS
        },
    }


def read_inputs(source: Any) -> Any:
    """Read the shapes of what a model takes, as plain values.

    Args:
        source: What `fit` reads batches from. On TensorFlow it knows their
            shapes; elsewhere models are built before training begins.
    """
    spec = getattr(source, "element_spec", None)
    if spec is None:
        return None
    inputs, _, _ = keras.utils.unpack_x_y_sample_weight(spec)
    try:
        return keras.tree.map_structure(
            lambda x: (tuple(x.shape), x.dtype.name), inputs
        )
    except (AttributeError, ValueError):  # of several devices, or no shape
        return None


def make_variables(model: keras.Model, inputs: Any):
    """Let a model make its variables and those of its optimizer.

    Args:
        model: The model.
        inputs: What `read_inputs` returned.

    Raises:
        ValueError: If they are not known, or the model does not take them.
    """
    if not model.built:
        if inputs is None:
            raise ValueError("its model has no weights yet; call `build` first")
        model(_symbols(inputs))
    if _lacks_slots(model):
        model.optimizer.build(model.trainable_variables)


def set_variables(model: keras.Model, state: dict[str, Any], groups=GROUPS):
    """Put back the values of variables.

    Args:
        model: A model that is ready.
        state: What `read_variables` returned.
        groups: Which groups. Defaults to all.

    Raises:
        ValueError: If the model has other variables.
    """
    found = groups_of(model)
    for name in groups:
        signature = [list(x) for x in state["signature"][name]]
        if [list(x) for x in _signature(found[name])] != signature:
            raise ValueError(f"the variables of its {name} differ")
        for variable, value in zip(
            found[name], state["values"][name], strict=True
        ):
            variable.assign(value)


def _lacks_slots(model):
    trains = model.optimizer is not None and model.trainable_variables
    return bool(trains) and not model.optimizer.built


def _signature(variables):
    return [
        (str(keras.backend.standardize_dtype(v.dtype)), list(map(int, v.shape)))
        for v in variables
    ]


def _symbols(inputs):
    """Make symbolic inputs of the shapes that were read."""
    if isinstance(inputs, dict):
        return {name: _symbols(x) for name, x in inputs.items()}
    leaf = isinstance(inputs, tuple) and len(inputs) == 2
    if leaf and isinstance(inputs[1], str):
        return keras.Input(batch_shape=inputs[0], dtype=inputs[1])
    return type(inputs)(_symbols(x) for x in inputs)
