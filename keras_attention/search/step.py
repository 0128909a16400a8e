"""Checks of a step function's state and results."""

from keras import ops
from keras import tree

from keras_attention.checks import check_shape
from keras_attention.search.constraints import known_integer

BEAM = (
    "Add the axis of beams with `ops.expand_dims(x, 1)`. What all beams share, "
    "such as the memory, is not part of the state: capture it in the step "
    "function."
)
ID_OPTIONS = ("start_id", "end_id", "forbidden_ids")  # of every search
CONTRACT = (
    "A search calls `log_probs, state, weights = step(tokens, state)` with "
    "tokens (B, K); see AbstractSearch."
)


def check_state(state, batch_size):
    """Convert a state to tensors with `B` rows and one beam.

    Args:
        state: Any structure of arrays or tensors `(B, 1, ...)`. `None` in it
            stays `None`.
        batch_size: The number of rows `B`, an integer or a scalar tensor.

    Returns:
        The same structure of tensors.

    Raises:
        ValueError: If a tensor's shape, as far as it is known, is different.
    """
    rows = known_integer(batch_size)

    def convert(x):
        if x is None:
            return None
        x = ops.convert_to_tensor(x)
        needs = "`state` must contain tensors of shape (B, 1, ...)"
        wanted = (rows, 1, *x.shape[2:])
        check_shape(needs, "leaf", x.shape, wanted, BEAM)
        return x

    return tree.map_structure(convert, state)


def check_found(search, tokens, found) -> tuple:
    """Check the results of a step.

    In a graph, the check runs during tracing, and costs nothing later.

    Args:
        search: The `AbstractSearch` that called it.
        tokens: The tokens that the step was called with, `(B, K)`.
        found: The results of the step.

    Returns:
        Tensors: `log_probs (B, K, V)`, the next state and `weights (B, K,
        Tv)` or `None`.

    Raises:
        ValueError: If shapes, as far as they are known, do not match, or if an
            id of the search is not below `V`.
    """
    several = isinstance(found, tuple | list)
    if not several or len(found) != 3:
        said = f"one value of type {type(found).__name__}"
        said = f"{len(found)} values" if several else said
        raise ValueError(
            "`step` must return log_probs, state, weights; without attention, "
            f"weights are None. Received: {said}. {CONTRACT}"
        )
    log_probs, state, weights = found
    log_probs = _check_shape("log_probs", log_probs, tokens, "V")
    check_search_ids(search, log_probs.shape[-1])
    if weights is not None:
        weights = _check_shape("weights", weights, tokens, "Tv")
    return log_probs, state, weights


def _check_shape(name, x, tokens, last):
    x = ops.convert_to_tensor(x)
    rows, beams = tokens.shape
    needs = f"`step` must return {name} of shape (B, K, {last})"
    check_shape(needs, name, x.shape, (rows, beams, last), CONTRACT)
    return x


def check_search_ids(search, classes):
    """Raise a `ValueError` if ids of a search are outside the vocabulary.

    Args:
        search: An `AbstractSearch`.
        classes: Vocabulary size of the model, or `None` if it is unknown.
    """
    if classes is None:
        return
    for name in ID_OPTIONS:
        value, kind = getattr(search, name), type(search).__name__
        several = isinstance(value, list)
        if max(value if several else [value], default=0) >= classes:
            said = "ids" if several else "an id"
            raise ValueError(
                f"`{name}` must be {said} of the model, from 0 to "
                f"{classes - 1}. Received: {name}={value}. Pass the ids of the "
                f"model's tokenizer to the search: {kind}(..., {name}=...)."
            )
