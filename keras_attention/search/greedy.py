"""Greedy search: the most likely token at every step."""

import keras

from keras_attention.backend import ops
from keras_attention.search.base import AbstractSearch
from keras_attention.search.base import Generation
from keras_attention.search.path import follow_path


@keras.saving.register_keras_serializable(package="keras_attention")
class GreedySearch(AbstractSearch, varying=("max_length",)):
    """Takes the most likely token at every step.

    Formula:

        y_t = argmax_y log p(y | y_1 ... y_{t-1})
        score = sum_t log p(y_t | y_1 ... y_{t-1})

    This is the cheapest search. It equals beam search with one beam. Greedy
    search can miss the most likely sequence, because a slightly less likely
    first token can lead to a much more likely sequence.

    Args:
        max_length: Maximum length of a hypothesis, in tokens, including the end
            token. A hypothesis of this length may lack the end token. Defaults
            to `100`.
        min_length: Minimum length of a hypothesis, in tokens, including the end
            token, which is forbidden in shorter hypotheses. Defaults to `1`.
        start_id: Id of the start token. Defaults to `2`.
        end_id: Id of the end token. Defaults to `3`.
        no_repeat_ngram_size: Length of n-grams that may occur only once in a
            hypothesis; the start token is not counted. Defaults to `0`, which
            allows repetitions.
        forbidden_ids: Ids of tokens that are never generated, such as `[1]` for
            the unknown token. Defaults to `()`.

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
