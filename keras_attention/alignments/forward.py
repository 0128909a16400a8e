"""Forward alignment: stay, or move on by one position."""

import keras
from keras import ops

from keras_attention.alignments.base import AbstractAlignment
from keras_attention.ops import join_masks
from keras_attention.ops import masked_softmax
from keras_attention.ops.monotonic import first_true

LEAST = 1e-30  # of a weight that can be built on: 1 over it is finite


@keras.saving.register_keras_serializable(package="keras_attention")
class ForwardAlignment(AbstractAlignment):
    """Lets weights stay where they are, or move on by one position a step.

    Formula:

        w[j] = (previous[j] + previous[j - 1]) softmax(score)[j]
        weights[j] = w[j] / sum w

    The first step starts from all weight at position 0, or at the first real
    one, so that step `t` reaches position `t`: a target shorter than its
    source never sees the end. A row in which nothing can be reached gives 0,
    and so do its later steps. The softmax itself cancels out: it is taken
    over the positions in reach, of `score + log(previous[j] + previous[j -
    1])`, where it cannot vanish. A weight under 1e-30 counts as none.

    Args:
        **kwargs: Keras layer arguments, such as `name`.

    Reference:
        [Zhang et al., 2018](https://arxiv.org/abs/1807.06736), algorithm 1.
    """

    state_count = 1  # the weights of the step before

    def first_state(self, real):
        return (first_true(real > 0, real.dtype),)

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
