"""Checks of argument values, with one wording for all who make them."""


def check_positive(name: str, value):
    """Raise a `ValueError` unless a number is above 0."""
    if value <= 0:
        raise ValueError(f"`{name}` must be positive. Received: {name}={value}")


def check_choice(name: str, value, choices):
    """Raise a `ValueError` unless a value is one of the choices."""
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {tuple(choices)}. "
            f"Received: {name}={value!r}"
        )


def check_rate(name: str, value):
    """Raise a `ValueError` unless a number can be a dropout rate."""
    if not 0 <= value < 1:
        raise ValueError(
            f"`{name}` must be in [0, 1). Received: {name}={value}"
        )


def check_built(layer, method: str, way_out: str):
    """Raise a `ValueError` unless a layer has its weights."""
    if not layer.built:
        raise ValueError(
            f"{type(layer).__name__}.{method} needs a layer that has its "
            f"weights. Received: built=False. {way_out}"
        )


def check_loadable(name: str, function):
    """Raise a `ValueError` for a lambda, which no file can bring back."""
    if getattr(function, "__name__", "") == "<lambda>":
        raise ValueError(
            f"`{name}` must be a name or a registered function: a lambda "
            f"cannot be loaded again. Received: {name}={function}"
        )


def check_same_features(layer, query_shape, key_shape):
    """Raise a `ValueError` unless query and key have the same size."""
    if query_shape[-1] != key_shape[-1]:
        raise ValueError(
            f"{type(layer).__name__} needs query and key with the same number "
            f"of features. Received: query_shape={query_shape}, "
            f"key_shape={key_shape}. To compare two different sizes, use "
            "LuongGeneral, which learns the map between them."
        )
