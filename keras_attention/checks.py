"""Checks of arguments, with uniform error messages.

Commands check their options by them, before anything slow is imported.
"""

import contextlib
import inspect
import math
import numbers
from collections.abc import Callable
from collections.abc import Collection
from typing import Any
from typing import NoReturn

LARGEST = 2**24  # of sizes and ids; nobody means more


def check_integer(
    name: str, value: Any, least: int = 1, most: float = LARGEST
) -> int:
    """Check an integer argument.

    Args:
        name: Name of the argument.
        value: Value of the argument.
        least: The smallest allowed value. Defaults to `1`.
        most: The largest allowed value. Defaults to the limit of sizes and ids.

    Returns:
        The value as a Python integer.

    Raises:
        ValueError: If it is not an integer from `least` to `most`.
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    kind = "a positive integer" if least == 1 else "an integer"
    if not whole or value < least:
        limit = f" of at least {least}" if least not in (0, 1) else ""
        limit = " of at least 0" if least == 0 else limit
        raise ValueError(
            f"`{name}` must be {kind}{limit}. Received: {name}={value!r}"
        )
    if value > most:
        raise ValueError(
            f"`{name}` must be {kind} of at most {most}. Received: {name}="
            f"{value if value < 1e30 else f'10**{math.log10(value):.0f}'}"
        )
    return int(value)


def check_size(name: str, value: Any) -> int | None:
    """Check an integer argument, or `None` for a default."""
    return None if value is None else check_integer(name, value)


def check_number(
    name: str,
    value: Any,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
) -> float:
    """Check a numeric argument.

    Args:
        name: Name of the argument.
        value: Value of the argument.
        least: The smallest value allowed.
        above: A bound that the value must exceed.
        most: The largest value allowed.
        below: A bound that the value must be below.

    Returns:
        The value as a Python float.

    Raises:
        ValueError: If it is not a finite number within these bounds.
    """
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    with contextlib.suppress(OverflowError):  # no float holds such an integer
        if real and math.isfinite(value) and least <= value <= most:
            if above < value < below:
                return float(value)
    bounds = {
        "at least": least,
        "above": above,
        "at most": most,
        "below": below,
    }
    kind = "finite"
    if 0 in (above, least):
        kind = "positive" if above == 0 else "non-negative"
        del bounds["above" if above == 0 else "at least"]
    said = [f"{k} {x:g}" for k, x in bounds.items() if math.isfinite(x)]
    limits = f", {' and '.join(said)}" if said else ""
    raise ValueError(
        f"`{name}` must be a {kind} number{limits}. Received: {name}={value!r}"
    )


def check_rate(name: str, value: Any) -> float:
    """Check a dropout rate: a number of at least 0 and below 1."""
    try:
        return check_number(name, value, least=0, below=1)
    except ValueError:
        raise ValueError(
            f"`{name}` must be in [0, 1). Received: {name}={value!r}"
        ) from None


def check_choice(name: str, value: Any, choices: Collection):
    """Raise a `ValueError` unless a value is one of the choices."""
    try:
        known = value in choices
    except TypeError:  # unhashable
        known = False
    if not known:
        raise ValueError(
            f"`{name}` must be one of {tuple(choices)}. "
            f"Received: {name}={value!r}"
        )


def check_list(name: str, value: Any, of: str) -> list:
    """Return the elements of an argument, or raise a `ValueError`.

    Args:
        name: Name of the argument.
        value: Value of the argument.
        of: The expected elements, such as `"ids"`.
    """
    try:
        return list(value)
    except TypeError:
        raise ValueError(
            f"`{name}` must be a list of {of}. Received: {name}={value!r}. Put "
            "a single one in a list: [x]."
        ) from None


def check_object(name: str, value: Any, kind: type, way_out: str):
    """Raise a `ValueError` unless a value is an instance of a class.

    Args:
        name: Name of the argument.
        value: Value of the argument.
        kind: The class.
        way_out: A sentence that says what to do instead.
    """
    if isinstance(value, kind):
        return
    raise ValueError(
        f"`{name}` must be an instance of {kind.__name__}. Received: "
        f"{name}={described(value)}. {way_out}"
    )


def check_separator(name: str, value: Any):
    """Raise a `ValueError` unless a value can stand between two tags."""
    if not isinstance(value, str) or not value or "\t" in value:
        raise ValueError(
            f"`{name}` must be a string without a tab. Received: "
            f"{name}={value!r}. Example: ';'."
        )


def check_function(name: str, value: Any, needed: str, way_out: str) -> Any:
    """Return a function or a callable object, or raise a `ValueError`.

    Args:
        name: Name of the argument.
        value: Value of the argument.
        needed: What it must be, such as `"a layer or a function"`.
        way_out: A sentence that says what to do instead.
    """
    if isinstance(value, type) or not callable(value):
        raise ValueError(
            f"`{name}` must be {needed}. Received: {name}={described(value)}. "
            f"{way_out}"
        )
    return value


def check_count(needed: str, name: str, values, other: str, others):
    """Raise a `ValueError` unless there is one value for each of others.

    Args:
        needed: What is needed, such as `"one reference for each source"`.
        name: Name of the argument.
        values: Value of the argument.
        other: Name of the others.
        others: What there must be one of for each.
    """
    if len(values) != len(others):
        raise ValueError(
            f"`{name}` needs {needed}. Received: {len(values)} {name} for "
            f"{len(others)} {other}. Pass the same number of both."
        )


def described(value: Any) -> str:
    """Describe a value for an error; name a class as a class."""
    is_class = isinstance(value, type)
    return f"the class {value.__name__}" if is_class else repr(value)


def check_ids(needed_by: str, ids: Any, size: int, known: str, way_out: str):
    """Raise a `ValueError` unless all ids are in a vocabulary.

    Args:
        needed_by: Who needs which ids, such as `"Seq2Seq.fit needs source"`.
        ids: The ids, an array of any shape.
        size: Number of ids in the vocabulary.
        known: A clause that says what they do not match, or an empty string.
        way_out: A sentence that says what to do instead.
    """
    said = ""
    if ids.dtype.kind in "OSU":
        said = f"strings of dtype {ids.dtype}"
    elif ids.size and not 0 <= ids.min() <= ids.max() < size:
        said = f"ids from {ids.min()} to {ids.max()}"
    if said:
        raise ValueError(
            f"{needed_by} ids from 0 to {size - 1}. Received: {said}{known}. "
            f"{way_out}"
        )


def check_absent(name: str, options: dict, owner, reason: str):
    """Raise a `ValueError` if an option of a base class is given.

    Args:
        name: The option.
        options: Keyword arguments of the owner.
        owner: The object that has no such option.
        reason: A clause that says why.
    """
    if name in options:
        raise ValueError(
            f"{type(owner).__name__} does not accept `{name}`: {reason}. "
            f"Received: {name}={options[name]!r}. Omit it."
        )


def check_built(layer, method: str, way_out: str):
    """Raise a `ValueError` unless a layer is built."""
    if not layer.built:
        name = type(layer).__name__
        raise ValueError(
            f"{name}.{method} needs weights, which exist once the {name} is "
            f"built. Received: built=False. {way_out}"
        )


def refuse_to_stream(received: str, reason: str, way_out: str) -> NoReturn:
    """Raise a `ValueError` for a component that a stream cannot run.

    Args:
        received: The component, as the user wrote it.
        reason: What it does with the end of the source, to follow "which".
        way_out: A sentence that says what to do instead.
    """
    raise ValueError(
        "A stream needs components that do not depend on the rest of the "
        f"source. Received: {received}, which {reason}. {way_out}"
    )


def check_same_features(layer, query_shape, key_shape):
    """Raise a `ValueError` unless query and key have the same size."""
    if query_shape[-1] != key_shape[-1]:
        raise ValueError(
            f"{type(layer).__name__} needs query and key with the same number "
            f"of features. Received: query_shape={query_shape}, "
            f"key_shape={key_shape}. For keys of another size, use "
            "LuongGeneral."
        )


def check_shape(needs: str, name: str, shape, wanted, way_out: str):
    """Raise a `ValueError` unless a shape is the one that is needed.

    Args:
        needs: Who needs what, such as "`push` needs a mask (B, n)".
        name: Name of the argument.
        shape: Its shape, with `None` for an unknown size.
        wanted: The sizes that it must have; `None` or a name, such as `"B"`,
            stands for any size.
        way_out: A sentence that says what to do instead.
    """
    sizes = [None if isinstance(size, str) else size for size in wanted]
    if not shapes_agree(shape, sizes):
        said = ", ".join("any" if x is None else str(x) for x in wanted)
        known = any(size is not None for size in sizes)
        here = f", here ({said})" if known else ""
        raise ValueError(
            f"{needs}{here}. Received: {name}.shape={tuple(shape)}. {way_out}"
        )


def shapes_agree(one, other) -> bool:
    """Return whether two shapes are equal, as far as they are known."""
    pairs = zip(one, other, strict=False)
    same = all(a is None or b is None or a == b for a, b in pairs)
    return same and len(one) == len(other)


def missing_method(method: Callable) -> NotImplementedError:
    """Return the error of an abstract class whose subclass lacks a method.

    Args:
        method: The method of the object. Its docstring says what it is for.
    """
    purpose, _, _ = (method.__doc__ or "").partition("\n")
    needed = f"{method.__name__}{inspect.signature(method)}"
    needed = f"{type(method.__self__).__name__} must define `{needed}`"
    return NotImplementedError(f"{needed}. {purpose}")
