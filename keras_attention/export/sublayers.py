"""The layers inside of a layer."""

import keras


def sublayers(layer: keras.layers.Layer) -> list[keras.layers.Layer]:
    """List a layer and all layers inside of it, each once.

    A layer is inside of another if an attribute of that one holds it, by
    itself or in lists, tuples, dictionaries and sets.

    Args:
        layer: The layer or model to begin with, which comes first.
    """
    found, seen, waiting = [], set(), [layer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, keras.layers.Layer):
            if id(value) not in seen:
                seen.add(id(value))
                found.append(value)
                waiting.extend(_backwards(vars(value).values()))
        elif isinstance(value, dict):
            waiting.extend(_backwards(value.values()))
        elif isinstance(value, list | tuple | set):
            waiting.extend(_backwards(value))
    return found


def _backwards(values):
    """Reverse values, so that the first one is the next to be popped."""
    return reversed(list(values))
