"""The batches of `fit`, and one run of it, on any Keras.

Losses are compared over steps of plain gradient descent, which are equal if
all gradients are. Adam differs between libraries: torch adds epsilon in another
place than Keras.
"""

from collections.abc import Callable

COMPARED = 5  # number of steps whose losses are compared
DESCENT = 0.5  # learning rate of these steps
ADAM = 1e-3  # learning rate of the timed steps


def batches(arrays: dict) -> list:
    """Return teacher-forced batches.

    Args:
        arrays: Ids `source_0`, `target_0`, `source_1`, ..., each `(B, T)`.

    Returns:
        A list of pairs: `(source, decoder's inputs)` and targets.
    """
    found = []
    while f"source_{len(found)}" in arrays:
        source, target = (
            arrays[f"{side}_{len(found)}"] for side in ("source", "target")
        )
        found.append(((source, target[:, :-1]), target[:, 1:]))
    return found


def fitting(model, optimizers, arrays: dict, feed: Callable, **options):
    """Make functions that run `fit` over all batches and return its losses.

    Args:
        model: A built model.
        optimizers: The module of optimizers of its Keras.
        arrays: The batches, by the names that `batches` reads.
        feed: Function from a list of batches to arguments of `fit`.
        **options: Further arguments of `compile`.

    Returns:
        Functions `run` and `numbers`, as `serve` takes them.
    """
    every = batches(arrays)
    data = feed(every)
    model.compile(optimizers.Adam(ADAM), **options)

    def once(data):
        return model.fit(**data, epochs=1, verbose=0).history["loss"][0]

    def run():
        return once(data)

    def numbers():
        model.compile(optimizers.SGD(DESCENT), **options)
        losses = [once(feed([batch])) for batch in every[:COMPARED]]
        model.compile(optimizers.Adam(ADAM), **options)
        return {"losses": losses}

    return run, numbers
