"""The batches of `fit`, and what one round of it is, on any Keras.

Losses are compared after steps of plain gradient descent, which show whether
all gradients are equal. Those of Adam do not: each library has its own. Keras
3 squares the parts of an embedding's gradient one by one where a word stands
several times in a batch, and torch adds its epsilon elsewhere.
"""

COMPARED = 5  # steps whose losses are compared
DESCENT = 0.5  # their learning rate
ADAM = 1e-3  # the learning rate of what is timed


def batches(arrays: dict) -> list:
    """Take the batches out, for training by teacher.

    Args:
        arrays: Has ids `source_0`, `target_0`, `source_1`, ...

    Returns:
        A list of `(source, words known), words to tell`.
    """
    found = []
    while f"source_{len(found)}" in arrays:
        source, target = (
            arrays[f"{side}_{len(found)}"] for side in ("source", "target")
        )
        found.append(((source, target[:, :-1]), target[:, 1:]))
    return found


def fitting(model, optimizers, arrays: dict, feed, **options):
    """Make what fits a model, once over all batches, and what it loses.

    Args:
        model: A built model.
        optimizers: The optimizers of its Keras.
        arrays: Has the batches, by the names that `batches` reads.
        feed: A function from a list of batches to arguments of `fit`.
        **options: More arguments of `compile`.

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
