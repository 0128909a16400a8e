"""Monotonic alignment: attention that only moves to the right."""

import keras

from keras_attention.alignments.base import AbstractAlignment
from keras_attention.alignments.reading import HardReading
from keras_attention.backend import ops
from keras_attention.checks import check_choice
from keras_attention.checks import check_number
from keras_attention.checks import refuse_to_stream
from keras_attention.ops.monotonic import behind
from keras_attention.ops.monotonic import step_hard
from keras_attention.ops.monotonic import step_softly
from keras_attention.ops.monotonic import stop_hard
from keras_attention.ops.monotonic import stop_in_parallel
from keras_attention.ops.monotonic import stop_recursively
from keras_attention.ops.positions import first_true

MODES = {  # and the same if stepwise
    "parallel": (stop_in_parallel, step_softly),
    "recursive": (stop_recursively, step_softly),
    "hard": (stop_hard, step_hard),
}


@keras.saving.register_keras_serializable(package="keras_attention")
class Monotonic(AbstractAlignment):
    """Attends at or to the right of where the previous step attended.

    Formula:

        p[j] = sigmoid(score[j] + r + noise)
        arrived[j] = previous[j] + (1 - p[j - 1]) arrived[j - 1]
        weights[j] = p[j] arrived[j]
        strict: arrived[j] = previous[j - 1] + (1 - p[j - 1]) arrived[j - 1]
        stepwise: weights[j] =
            p[j] previous[j] + (1 - p[j - 1]) previous[j - 1]

    `p[j]` is the probability of stopping at position `j`, and `arrived[j]` the
    probability of reaching it. The first step starts at the first valid
    position. Weights sum to at most 1: the probability of not stopping at any
    position is lost, in this step and in all later steps.

    With `strict`, a step starts after the position where the previous step
    stopped, so that no position is attended to twice. Use `strict` if each step
    has its own position, such as the end of a phoneme. Scores then do not need
    to depend on earlier weights.

    With `stepwise`, a step stays with probability `p[j]`; otherwise it moves
    forward by exactly one position, so that no position is skipped. The
    probability that moves beyond the last valid position is lost. With `p =
    1/2`, a position is attended to for two steps on average.

    The bias `r` is trained. For long sources, `r` should start low (usually -4
    for about 50 positions); otherwise the weights hardly move. Noise in
    training drives `p` to 0 or 1. The weights in the mode `"hard"`, which is
    for inference only, are then nearly equal to those in the mode of the
    training. Unbounded scores, such as those of `DotAttention`, train worse
    than those of `BahdanauAttention(normalize=True)`.

    Args:
        mode: `"parallel"` computes all positions at once with a cumulative
            product; `"recursive"` computes one position at a time, which is
            exact on any input, but slower; `"hard"` puts all weight on the
            first position with `p > 1/2`. Defaults to `"parallel"`.
        score_bias: Initial value of `r`. Defaults to `0.0`.
        sigmoid_noise: Standard deviation of the noise in training, drawn with
            the random seed of the attention layer. Defaults to `0.0`.
        stepwise: Whether a step moves by at most one position, so that
            `"parallel"` and `"recursive"` give the same result. `"hard"` then
            stays if `p > 1/2`. Defaults to `False`.
        strict: Whether a step starts one position after the position where the
            previous step stopped. Defaults to `False`.
        **kwargs: Keras layer arguments, such as `name`.

    Raises:
        ValueError: If `mode` is unknown, if `sigmoid_noise < 0`, or if both
            `stepwise` and `strict` are true.

    Example:

    >>> attention = DotAttention(alignment=Monotonic("hard", strict=True))
    >>> context, weights = attention(
    ...     np.ones((1, 3, 8)),
    ...     np.ones((1, 4, 8)),
    ...     return_attention_scores=True,
    ... )
    >>> ops.convert_to_numpy(weights)[0].astype(int).tolist()
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]

    Reference:
        [Raffel et al., 2017](https://arxiv.org/abs/1704.00784), eqs. 9 and
        10, algorithm 1 and section 2.5; stepwise:
        [He et al., 2019](https://arxiv.org/abs/1906.00672).
    """

    # The weights of the step before. If strict, they are negative before the
    # first step, which starts where they are and not behind it.
    state_count = 1

    def __init__(
        self,
        mode: str = "parallel",
        score_bias: float = 0.0,
        sigmoid_noise: float = 0.0,
        stepwise: bool = False,
        strict: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_choice("mode", mode, MODES)
        self.mode = mode
        self._score_bias = check_number("score_bias", score_bias)
        self.score_bias = self._score_bias  # `build` replaces it by a weight
        self.sigmoid_noise = check_number("sigmoid_noise", sigmoid_noise, 0)
        if stepwise and strict:
            raise ValueError(
                "`stepwise` and `strict` cannot be combined, because a strict "
                "step never stays. Received: stepwise=True, strict=True. Omit "
                "one of them."
            )
        self.stepwise = stepwise
        self.strict = strict

    @property
    def noisy(self) -> bool:
        """Whether training needs noise."""
        return self.sigmoid_noise > 0

    def build(self, query_shape, value_shape):
        self.score_bias = self.add_weight(
            name="score_bias",
            shape=(),
            initializer=keras.initializers.Constant(self._score_bias),
            autocast=False,
        )

    def first_state(self, real) -> tuple:
        start = first_true(real > 0, real.dtype)
        return (-start if self.strict else start,)

    def draw_noise(self, shape, dtype, seed):
        if not self.noisy:
            return None
        return keras.random.normal(
            shape, stddev=self.sigmoid_noise, dtype=dtype, seed=seed
        )

    def harden(self) -> list[str]:
        if self.mode == "hard":
            return []
        before, self.mode = self.mode, "hard"
        return [f"Monotonic: changed mode={before!r} to mode='hard'"]

    def reading(self) -> HardReading:
        if self.mode != "hard":
            reason = (
                "spreads its weights over all positions up to the end of "
                "the source"
            )
            way_out = (
                "Train with this mode, then call `model.harden()` before "
                "streaming."
            )
            refuse_to_stream(f"Monotonic(mode={self.mode!r})", reason, way_out)
        if self.stepwise:
            why = "may move beyond the part of the source that has arrived"
            refuse_to_stream("Monotonic(stepwise=True)", why, "Omit it.")
        return HardReading(strict=self.strict)

    def align(self, scores, mask, state, noise, query, lengths) -> tuple:
        self.check_built("align")
        energies = scores + ops.cast(self.score_bias, scores.dtype)
        if noise is not None:
            energies = energies + ops.cast(noise, scores.dtype)
        previous = ops.cast(state[0], scores.dtype)
        if self.strict:
            previous = behind(previous)
        stop, step = MODES[self.mode]
        align = step if self.stepwise else stop
        weights = align(energies, previous, mask)
        return weights, (weights,)

    def get_config(self) -> dict:
        return {**super().get_config(), "score_bias": self._score_bias}
