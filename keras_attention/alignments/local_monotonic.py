"""Local alignment whose window moves by one position per step (local-m)."""

import keras

from keras_attention.alignments.base import AbstractAlignment
from keras_attention.alignments.reading import WindowReading
from keras_attention.backend import ops
from keras_attention.checks import check_integer
from keras_attention.ops import first_position
from keras_attention.ops import join_masks
from keras_attention.ops import masked_softmax
from keras_attention.ops.positions import count_up


@keras.saving.register_keras_serializable(package="keras_attention")
class LocalMonotonic(AbstractAlignment):
    """Attends to a window around position `t` at step `t`.

    Formula:

        weights = softmax of the scores at |j - t| <= window

    Steps `t` and positions `j` count from 0; position 0 is the first valid
    position of a source. The window has `2 window + 1` positions. If all of
    these positions are padding or beyond the source, all weights are 0.

    Args:
        window: Largest distance of a position from `t`, positive.
        **kwargs: Keras layer arguments, such as `name`.

    Raises:
        ValueError: If `window` is not positive.

    Example:

    >>> attention = DotAttention(alignment=LocalMonotonic(window=1))
    >>> context, weights = attention(
    ...     np.ones((1, 3, 8)),
    ...     np.ones((1, 4, 8)),
    ...     return_attention_scores=True,
    ... )
    >>> (ops.convert_to_numpy(weights)[0] > 0).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]

    Reference:
        [Luong et al., 2015](https://arxiv.org/abs/1508.04025), section 3.2,
        "monotonic".
    """

    state_count = 1  # the position of `t`, `(B, K, 1)`

    def __init__(self, window: int, **kwargs):
        super().__init__(**kwargs)
        self.window = check_integer("window", window)

    def first_state(self, real) -> tuple:
        return (first_position(real),)

    def reading(self) -> WindowReading:
        return WindowReading(self.window)

    def align(self, scores, mask, state, noise, query, lengths) -> tuple:
        (centre,) = state  # (B, K, 1)
        positions = count_up(ops.shape(scores)[-1], scores.dtype)
        distance = positions - ops.cast(centre, scores.dtype)
        near = ops.abs(distance) <= self.window
        weights = masked_softmax(scores, join_masks(near, mask))
        return weights, (centre + 1,)
