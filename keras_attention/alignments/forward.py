"""Forward alignment: each step stays or moves on by one position."""

import keras
from keras import ops

from keras_attention.alignments.base import DECIDED
from keras_attention.alignments.base import AbstractAlignment
from keras_attention.checks import refuse_to_stream
from keras_attention.ops import join_masks
from keras_attention.ops import masked_softmax
from keras_attention.ops.monotonic import first_true

LEAST = 1e-30  # of a prior weight; its inverse and logarithm are finite


@keras.saving.register_keras_serializable(package="keras_attention")
class ForwardAlignment(AbstractAlignment):
    """Moves weights by at most one position per step.

    Formula:

        w[j] = (previous[j] + previous[j - 1]) softmax(score)[j]
        weights[j] = w[j] / sum w

    Before the first step all weight is at position 0, or at the first real
    one. So step `t` reaches position `t` at most, and a target shorter than
    its source never attends to the end. If no position can be reached, all
    weights are 0, also in later steps.

    Both lines are computed as one softmax of
    `score + log(previous[j] + previous[j - 1])` over the positions in reach,
    which cannot vanish. A sum of previous weights below 1e-30 counts as 0.

    Args:
        **kwargs: Keras layer arguments, such as `name`.

    Reference:
        [Zhang et al., 2018](https://arxiv.org/abs/1807.06736), algorithm 1.
    """

    state_count = 1  # the weights of the step before

    def first_state(self, real):
        return (first_true(real > 0, real.dtype),)

    def reading(self):
        reason = "keeps weight on every position, so that none is ever passed"
        refuse_to_stream("alignment=ForwardAlignment", reason, DECIDED)

    def align(self, scores, mask, state, noise, query, lengths):
        previous = ops.cast(state[0], scores.dtype)
        moved = previous[..., :-1]
        moved = ops.concatenate(
            [ops.zeros_like(previous[..., :1]), moved], axis=-1
        )
        prior = previous + moved
        reach = prior > LEAST
        logs = ops.log(ops.where(reach, prior, 1.0))
        weights = masked_softmax(scores + logs, join_masks(reach, mask))
        return weights, (weights,)
