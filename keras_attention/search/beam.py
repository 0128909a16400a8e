"""Beam search: the best hypotheses of every length, side by side."""

import math
import numbers

import keras

from keras_attention.search.base import AbstractSearch
from keras_attention.search.base import Generation
from keras_attention.search.base import keep_possible
from keras_attention.search.base import whole_number
from keras_attention.search.constraints import as_prefix
from keras_attention.search.hypotheses import begin
from keras_attention.search.hypotheses import grow
from keras_attention.search.hypotheses import may_improve
from keras_attention.search.loop import loop_while


@keras.saving.register_keras_serializable(package="keras_attention")
class BeamSearch(AbstractSearch):
    """Keeps the best hypotheses at every step, and finds the best of them.

    Formula:

        score = sum_t log p(y_t | y_1 ... y_{t-1}) / ((5 + n) / 6)^a
                + b sum_i log(min(sum_t w_ti, 1))

    with `n` tokens, the end included, `w_ti` the weight of source position
    `i` at token `t`, and the penalties `a` of length and `b` of coverage. At
    each step every hypothesis is extended by every token, and the `beam_size`
    best of all, by this score, are kept. One that has ended keeps its place
    among them, as it is, until better ones push it out. Those without an end
    at `max_length` compete as they are.

    With one beam it is `GreedySearch`; with as many as there are texts, it
    finds the best of all. The search stops when nothing that is still growing
    can reach the best `n_best`: what it finds is what it would find later.
    A length penalty puts that off, as long texts may still gain.

    Without penalties, the likeliest texts tend to be short. `a` from 0.6 to
    1 is usual; a `b` of 0.2 keeps words from being left out.

    In a tie the better beam, then the smaller id wins (on torch, any).

    Args:
        beam_size: How many hypotheses are kept, `K`. It may exceed the number
            of classes.
        n_best: How many of them are returned. Defaults to `1`.
        length_penalty: The exponent `a`. Defaults to `0.0`.
        coverage_penalty: The factor `b`. A position never attended counts as
            1e-37 in the logarithm. Defaults to `0.0`.
        **kwargs: Arguments of all searches, as in `AbstractSearch`.

    Shapes:
        `tokens (B, n_best, max_length)`, `scores (B, n_best)`, `lengths (B,
        n_best)` and `weights (B, n_best, max_length, Tv)`; the rest as in
        `AbstractSearch`. The step gets one beam at first, then `beam_size`.

    Raises:
        ValueError: As in `AbstractSearch`; if `n_best` exceeds `beam_size`, a
            penalty is not a finite number, or that of coverage is negative;
            if coverage counts and the step returns no weights.

    Example:

    >>> table = np.log([[.1, .2, .3, .4], [.1, .1, .1, .7],
    ...                 [.5, .4, .05, .05], [.3, .3, .3, .1]])
    >>> def step(tokens, state):  # after 2 come 0 and 1, after 1 the end, 3
    ...     return ops.take(table, tokens, axis=0), state, None
    >>> search = BeamSearch(3, n_best=2, max_length=5)
    >>> found = search(step, state=(), batch_size=1)
    >>> np.array(found.tokens).tolist()
    [[[1, 3, 0, 0, 0], [0, 3, 0, 0, 0]]]

    Reference:
        [Wu et al., 2016](https://arxiv.org/abs/1609.08144), equation 14.
    """

    def __init__(
        self,
        beam_size: int,
        n_best: int = 1,
        length_penalty: float = 0.0,
        coverage_penalty: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.beam_size = whole_number("beam_size", beam_size, 1)
        self.n_best = whole_number("n_best", n_best, 1)
        self.length_penalty = _finite("length_penalty", length_penalty)
        self.coverage_penalty = _finite("coverage_penalty", coverage_penalty)
        if self.n_best > self.beam_size:
            raise ValueError(
                "`n_best` cannot exceed `beam_size`. Received: "
                f"n_best={n_best}, beam_size={beam_size}"
            )
        if self.coverage_penalty < 0:
            raise ValueError(
                "`coverage_penalty` cannot be negative: it is taken off the "
                f"score. Received: coverage_penalty={coverage_penalty}"
            )

    def __call__(
        self, step, state, batch_size, memory_mask=None, prefix=None
    ) -> Generation:
        prefix = as_prefix(prefix)

        def extend(beams, found):
            return grow(self, beams, found, memory_mask, prefix)

        beams = loop_while(
            lambda beams: may_improve(self, beams),
            lambda beams: extend(beams, step(beams.words, beams.state)),
            extend(*begin(self, step, state, batch_size)),
            self.max_length - 1,
        )
        best = (beams.tokens, beams.scores, beams.lengths, beams.weights)
        return keep_possible(
            Generation(
                *[None if x is None else x[:, : self.n_best] for x in best]
            )
        )

    def get_config(self):
        return {
            "beam_size": self.beam_size,
            "n_best": self.n_best,
            "length_penalty": self.length_penalty,
            "coverage_penalty": self.coverage_penalty,
            **super().get_config(),
        }


def _finite(name, value):
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise ValueError(
            f"`{name}` must be a finite number. Received: {name}={value!r}"
        )
    return float(value)
