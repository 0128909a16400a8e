"""Greedy search: the likeliest token, every time."""

import keras
from keras import ops

from keras_attention.search.base import AbstractSearch
from keras_attention.search.base import Generation
from keras_attention.search.path import follow_path


@keras.saving.register_keras_serializable(package="keras_attention")
class GreedySearch(AbstractSearch, varying=("max_length",)):
    """Takes the likeliest token at every step.

    Formula:

        y_t = argmax_y log p(y | y_1 ... y_{t-1})
        score = sum_t log p(y_t | y_1 ... y_{t-1})

    The cheapest search, equal to beam search with one beam. It may miss the
    likeliest text: a first token that is a little less likely can lead to a
    text that is much more likely.

    Args:
        max_length: Longest text, in tokens, the end token included. A text
            that reaches it is returned without an end. Defaults to `100`.
        min_length: Shortest text, counted likewise: before it, the end token
            is never taken. Defaults to `1`.
        start_id: The token to begin with. Defaults to `2`.
        end_id: The token that ends a text. Defaults to `3`.
        no_repeat_ngram_size: No sequence of so many tokens comes twice in a
            text; the start token is not counted. Defaults to `0`, off.
        forbidden_ids: Tokens that are never taken, such as `[1]` for the
            unknown one. Defaults to `()`.

    Shapes:
        `tokens (B, 1, max_length)`, `scores (B, 1)`, `lengths (B, 1)` and
        `weights (B, 1, max_length, Tv)`; the rest as in `AbstractSearch`.
        The memory mask is not needed.

    Raises:
        ValueError: As in `AbstractSearch`.

    Example:

    >>> table = np.log([[.1, .2, .3, .4], [.1, .1, .1, .7],
    ...                 [.1, .6, .2, .1], [.1, .2, .3, .4]])
    >>> def step(tokens, state):  # after 2 comes 1, after 1 the end, 3
    ...     return ops.take(table, tokens, axis=0), state, None
    >>> found = GreedySearch(max_length=5)(step, state=(), batch_size=1)
    >>> np.array(found.tokens).tolist()
    [[[1, 3, 0, 0, 0]]]
    """

    reads_weights = False

    def call(
        self,
        step,
        state,
        batch_size,
        memory_mask=None,
        prefix=None,
        max_length=None,
    ) -> Generation:
        return follow_path(
            self, _likeliest, step, state, batch_size, prefix, max_length
        )


def _likeliest(log_probs, _):
    # Not `argmax`, which no LiteRT file without Flex ops can hold.
    _, words = ops.top_k(log_probs, 1)  # (B, 1, 1)
    return ops.cast(ops.squeeze(words, axis=-1), "int32")
