"""Forward alignment: each step stays or moves forward by one position."""

import keras

from keras_attention.alignments.base import AbstractAlignment
from keras_attention.backend import ops
from keras_attention.layers import AbstractKernelLayer
from keras_attention.layers import Constraint
from keras_attention.layers import Initializer
from keras_attention.layers import Regularizer
from keras_attention.ops import join_masks
from keras_attention.ops import masked_softmax
from keras_attention.ops import mix
from keras_attention.ops import product
from keras_attention.ops.monotonic import shift
from keras_attention.ops.positions import first_true

LEAST = 1e-30  # of a prior weight; its inverse and logarithm are finite


@keras.saving.register_keras_serializable(package="keras_attention")
class ForwardAlignment(AbstractKernelLayer, AbstractAlignment):
    """Moves weights by at most one position per step.

    Formula:

        w[j] = (previous[j] + previous[j - 1]) softmax(score)[j]
        transition agent: w[j] =
            ((1 - u) previous[j] + u previous[j - 1]) softmax(score)[j]
            next u = sigmoid([query; context] W + b)
        weights[j] = w[j] / sum w

    Before the first step, all weight is on the first valid position. Therefore,
    the first `t` steps move at most `t` positions to the right, and a target of
    `T` steps attends only to the first `T + 1` valid positions. If no position
    can be reached, all weights are 0, in this step and in all later steps.

    A transition agent learns when to move: it computes `u`, the probability of
    moving, from the query and the context of the previous step. In the first
    step, `u` is 1/2. In the paper, the agent also reads the previous output of
    the model; here, it reads this output only through the query. The agent
    reads the context before dropout.

    The softmax and the division by `sum w` are computed together, as one
    softmax of `score + log(previous[j] + previous[j - 1])` over the reachable
    positions, which cannot underflow. A sum of previous weights below 1e-30
    counts as 0.

    Args:
        transition_agent: Whether a learned gate decides when to move. Defaults
            to `False`.
        kernel_initializer: Initializer of the agent's kernel. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: Regularizer of that kernel. Defaults to `None`.
        kernel_constraint: Constraint of that kernel. Defaults to `None`.
        **kwargs: Keras layer arguments, such as `name`.

    Raises:
        ValueError: In a stream, because every position that has been attended
            to keeps some weight, so that a stream could not drop it; with a
            transition agent, if it is not built.

    Example:

    >>> attention = DotAttention(alignment=ForwardAlignment())
    >>> context, weights = attention(
    ...     np.ones((1, 2, 8)),
    ...     np.ones((1, 4, 8)),
    ...     return_attention_scores=True,
    ... )
    >>> np.round(ops.convert_to_numpy(weights)[0], 2).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.25, 0.5, 0.25, 0.0]]

    Reference:
        [Zhang et al., 2018](https://arxiv.org/abs/1807.06736), algorithm 1;
        algorithm 2 with a transition agent.
    """

    needs_end = (
        "keeps weight on every position, so that no position is ever passed"
    )

    def __init__(
        self,
        transition_agent: bool = False,
        *,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **kwargs,
        )
        self.transition_agent = transition_agent

    @property
    def state_count(self) -> int:
        """The weights of the previous step, and `u` of a transition agent."""
        return 2 if self.transition_agent else 1

    def build(self, query_shape, value_shape):
        if self.transition_agent:
            size = query_shape[-1] + value_shape[-1]
            self.transition_kernel = self.add_kernel(
                "transition_kernel", (size, 1)
            )
            self.transition_bias = self.add_bias("transition_bias", 1)

    def first_state(self, real) -> tuple:
        start = first_true(real > 0, real.dtype)
        if not self.transition_agent:
            return (start,)
        return start, ops.full((*ops.shape(real)[:2], 1), 0.5, real.dtype)

    def align(self, scores, mask, state, noise, query, lengths) -> tuple:
        previous = ops.cast(state[0], scores.dtype)
        moved = shift(previous, 0.0)
        if self.transition_agent:
            move = ops.cast(state[1], scores.dtype)  # (B, K, 1)
            previous, moved = (1 - move) * previous, move * moved
        prior = previous + moved
        reach = prior > LEAST
        logs = ops.log(ops.where(reach, prior, 1.0))
        weights = masked_softmax(scores + logs, join_masks(reach, mask))
        return weights, (weights, *state[1:])

    def observe(self, state, query, weights, values) -> tuple:
        if not self.transition_agent:
            return state
        self.check_built("observe")
        context = mix(ops.cast(weights, values.dtype), values)
        previous, move = state
        inputs = [ops.cast(x, move.dtype) for x in (query, context)]
        logit = product(
            ops.concatenate(inputs, axis=-1), self.transition_kernel
        )
        bias = ops.cast(self.transition_bias, logit.dtype)
        return previous, ops.sigmoid(logit + bias)
